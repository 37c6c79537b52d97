// Heaps that the program manages itself: tries the allocations it reports, per thread.
//
// A thread has its own counter for every heap it reports to (custom_heaps.cc). Counters are never
// freed: a new thread continues with those of an ended thread, including their skip counts, which
// no observed data depends on.
//
// Signals: a handler may report; a report that interrupts a slow path of its own thread is counted
// but not tried. Fork: the child redraws. Allocates: from the capture, not by malloc.
#pragma once

#include <cstdint>

namespace geiger::api {

/// The largest interval that any reporting thread still draws with.
[[nodiscard]] std::uint64_t largest_interval_of_heaps();

/// In a fork's child: keeps the surviving thread's counters, gives back the others, and makes the
/// next report to each take the slow path, in the new image.
void restart_heaps_in_child();

}  // namespace geiger::api
