// What the allocator asks of the kernel. Not through libc: its mmap is a function that the program,
// or geiger's own runtime, may have replaced to count the program's mappings.
//
// Threads / Signals / Fork: safe. errno stays as it is. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::heap::system {

/// Fresh zeroed memory at a segment boundary, which `offset` bytes later is at a multiple of
/// `alignment`, a power of 2; null if there is none. `bytes` is a multiple of 4 MiB.
void* map(std::size_t bytes, std::size_t alignment, std::size_t offset);
void unmap(void* memory, std::size_t bytes);

/// Gives the memory of whole pages back; they read as zero then. False: they were not given back.
bool discard(void* memory, std::size_t bytes);

/// No huge pages there, whatever the system's setting: one would make 2 MiB resident for a few
/// blocks.
void keep_pages_small(void* memory, std::size_t bytes);

/// Moves the pages at `from` to `to`, without copying; both are mapped, and `from` reads as zero
/// then. False: nothing happened (kernels before 5.7).
bool move_pages(void* from, std::size_t bytes, void* to);

std::uint64_t milliseconds();
std::uint64_t random_seed();

/// Writes "geiger-malloc: FUNCTION: ADDRESS is not a live block" and aborts.
[[noreturn, gnu::cold]] void refuse(const char* function, const void* address);

}  // namespace geiger::heap::system
