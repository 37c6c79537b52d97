// For an allocator that calls functions of its family by name: musl's calloc calls malloc, and so
// do those of many preloaded shims, whose malloc may call the C library's calloc. Such calls lead
// to our entry points, so each allocation would be counted twice, and its second stack would start
// inside the allocator.
//
// Only the outer call counts. Before the original is called, the countdown is raised out of reach
// of every request; afterwards it gets its value back. So the entry points have no code for this.
//
// Threads: as the originals. Signals: allocations of a handler that interrupts the original are
// neither counted nor sampled. Fork: as the originals. Allocates: through those.
#pragma once

namespace geiger::interpose {

struct Originals;

/// Makes the allocating functions in `table` count their outer call alone.
void count_outer_calls(Originals& table);

}  // namespace geiger::interpose
