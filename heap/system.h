// The allocator's system calls. Not through libc: the program, or geiger's own runtime, may have
// replaced its mmap to count the program's mappings.
//
// Threads / Signals / Fork: safe. errno is preserved. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::heap::system {

/// New zeroed memory at a segment boundary; the address `offset` bytes later is a multiple of
/// `alignment`, a power of 2. Null without memory. `bytes` is a multiple of 4 MiB.
void* map(std::size_t bytes, std::size_t alignment, std::size_t offset);
void unmap(void* memory, std::size_t bytes);

/// Gives back the memory of whole pages, which then read as zero. False: failed.
bool discard(void* memory, std::size_t bytes);

/// Forbids huge pages there, whatever the system's setting: one would make 2 MiB resident for a few
/// blocks.
void keep_pages_small(void* memory, std::size_t bytes);

/// Moves the pages at `from` to `to`, without copying; both are mapped, and `from` then reads as
/// zero. False: nothing changed (kernels before 5.7).
bool move_pages(void* from, std::size_t bytes, void* to);

std::uint64_t milliseconds();
std::uint64_t random_seed();

/// Writes "geiger-malloc: FUNCTION: ADDRESS is not a live block" and aborts.
[[noreturn, gnu::cold]] void refuse(const char* function, const void* address);

}  // namespace geiger::heap::system
