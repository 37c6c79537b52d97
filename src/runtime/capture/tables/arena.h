// Memory for the runtime's own tables, straight from the kernel.
//
// Threads / Signals / Fork: lock-free, safe everywhere. Address space is never given back:
// what is taken is bounded by live samples, distinct stacks and threads.
#pragma once

#include <cstddef>

#include "trace/format.h"

namespace geiger::capture {

/// Zeroed pages, or null. One system call.
void* map_pages(std::size_t bytes);

/// Zeroed pages, or null, for a table that is written all over. They are taken from the kernel at
/// once (base/populate.h), but not so many that the calling thread would wait for more than .3 ms.
void* map_table(std::size_t bytes);

/// Gives the pages of such memory back; it stays taken, and reads as zeros or, where the kernel
/// refuses, as before.
void give_back_pages(void* start, std::size_t bytes);

/// From now on `ranges`, of a trace's header, lists what map_pages() gave and gives.
void list_ranges(trace::RuntimeRange (&ranges)[trace::kMaxRuntimeRanges]);

inline constexpr std::size_t kLargestAllocation = 4096;

/// Zeroed memory aligned to 64 bytes out of 64 KiB chunks, or null: also for more than
/// kLargestAllocation.
void* arena_allocate(std::size_t bytes);

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Whether all that was handed out is aligned, and no two ranges overlap.
[[nodiscard]] bool is_arena_whole();
#endif

}  // namespace geiger::capture
