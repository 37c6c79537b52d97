// Adds an allocating thread to the recording: its state, its record in a segment, its sampler and
// its name.
//
// Threads: each enrols itself. Signals / Fork: as capture.h. Allocates: never through malloc.
#pragma once

#include "base/check.h"
#include "base/units.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/format.h"

namespace geiger::capture {

/// T and lambda of an epoch, from its record: the image's own fields may be inconsistent while the
/// interval changes.
struct Drawing {
  std::uint64_t interval;
  double lambda;
};
[[nodiscard]] Drawing drawing_in(const Segment& segment, trace::Ref epoch);

/// The calling thread's state, or null: no memory. Requires that the image has started.
inline ThreadState* known_state() {
  GEIGER_ASSERT(image.segments.current.load(std::memory_order_relaxed) != nullptr);
  ThreadState* state = own_state();
  return state != nullptr ? state : adopt_state(current_segment().writer.header()->pid);
}

/// Gives a thread a record in a segment. False: no room.
bool enrol(ThreadState& state, Segment& segment);

/// Writes the calling thread's name if it has changed.
void record_name(Segment& segment, ThreadState& state);

/// The largest interval that any thread still draws with. A thread adopts the interval in force at
/// its next slow path. Requires that the image has started.
[[nodiscard]] Bytes largest_interval_in_use();

}  // namespace geiger::capture
