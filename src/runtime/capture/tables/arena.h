// Memory for the runtime's own tables, directly from the kernel.
//
// Threads / Signals / Fork: lock-free, safe everywhere. Address space is never returned; its size
// is bounded by live samples, distinct stacks and threads.
#pragma once

#include <cstddef>

#include "trace/format.h"

namespace geiger::capture {

/// Zeroed pages, or null. One system call.
void* map_pages(std::size_t bytes);

/// Zeroed pages, or null, for a table that will be written everywhere. They are populated at once
/// (base/raw_syscall.h), unless they are so many that the calling thread would wait for more than
/// .3 ms.
void* map_table(std::size_t bytes);

/// Returns the pages of such memory to the kernel. The range stays mapped, and reads as zeros or,
/// if the kernel refuses, as before.
void give_back_pages(void* start, std::size_t bytes);

/// From now on `ranges`, in a trace's header, lists all ranges from map_pages().
void list_ranges(trace::RuntimeRange (&ranges)[trace::kMaxRuntimeRanges]);

inline constexpr std::size_t kLargestAllocation = 4096;

/// Zeroed memory aligned to 64 bytes out of 64 KiB chunks; null without memory or for more than
/// kLargestAllocation.
void* arena_allocate(std::size_t bytes);

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Whether all allocations are aligned and no two ranges overlap.
[[nodiscard]] bool is_arena_whole();
#endif

}  // namespace geiger::capture
