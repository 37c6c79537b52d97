// How a segment ends: the next one continues with a checkpoint of all live samples, or the
// recording is over.
#pragma once

#include "base/units.h"
#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

// Continues the recording in the next segment, which opens with a checkpoint of all live samples,
// so that it can be read without earlier segments.
//
//   due      the segment has grown by GEIGER_SEGMENT since its checkpoint, or the control
//            page asks for another
//   open     one thread opens the next trace, publishes it and closes the last: from here
//            every slow path that begins writes into the next
//   carry    it walks the live samples and carries each on: a CarriedRecord in the next
//            segment, and the live table then refers to that
//   forget   with GEIGER_KEEP the oldest trace is unlinked
//
// Concurrent changes: a sample that is removed from the live table before it is carried was freed,
// so its record in the next segment is void. If a slow path inserts a sample late, still with a
// reference into the last segment, it carries the sample itself: either it sees the next segment
// after its insertion, or the walk sees the insertion (both sequentially consistent).

/// The tail at which a segment that continues from here is full; 0 = never.
[[nodiscard]] Bytes full_at(const Segment& segment);

/// Whether the image should continue in another segment.
[[nodiscard]] bool is_next_due(const Segment& segment);

/// Continues in the next segment, unless another thread is already doing so. Call it while the
/// thread is outside of every allocator.
void go_on_in_next();

/// Carries a sample that was inserted with a reference into `before`, if it is still live.
void carry(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value);

// The end of a recording: at exit, on request of a controller, or by detaching (attach.h).
//
// Threads: one ends it; others may be inside slow paths, and their later allocations are bounded by
// what they were armed with. Fork: as capture.h. Allocates: never.

/// Settles all threads, as exactly as possible while others run, and ends the trace.
/// Requires that the image has started.
void end_recording(trace::State end);

}  // namespace geiger::capture
