// Heaps that the program manages itself: what it reports is tried, thread by thread.
//
// A thread has a counter of its own for every heap it reports to (heap_counter.h). Counters
// are never freed: the next thread goes on with those of one that has ended, and with
// their skip counts, which nothing that was seen depends on.
//
// Signals: a handler may report; what interrupts a slow path of its own thread is counted
// and not tried. Fork: the child draws anew. Allocates: from the capture, not by malloc.
#pragma once

#include <cstdint>

namespace geiger::api {

/// The largest interval that any reporting thread still draws with.
[[nodiscard]] std::uint64_t largest_interval_of_heaps();

/// In a fork's child: the counters belong to the surviving thread or to none, and the next report
/// of each meets the new image.
void restart_heaps_in_child();

}  // namespace geiger::api
