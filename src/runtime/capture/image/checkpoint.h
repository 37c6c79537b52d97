// Going on in the next segment, which opens with a checkpoint of all that lives, so that it
// can be read without the ones before it.
//
//   due      the segment has grown by GEIGER_SEGMENT since its checkpoint, or the control
//            page asks for another
//   open     one thread opens the next trace, publishes it and closes the last: from here
//            every slow path that begins writes into the next
//   carry    it walks the live samples and carries each on: a CarriedRecord in the next
//            segment, and the live table then refers to that
//   forget   with GEIGER_KEEP the oldest trace's name goes
//
// What happens meanwhile. A sample that is taken from the live table before it is carried
// has ended: its record in the next segment is void. One that a slow path inserts late, still
// as of the last segment, is carried by that slow path itself: either it sees the next
// segment after its insertion, or the walk sees the insertion (both sequentially consistent).
#pragma once

#include "base/units.h"
#include "runtime/capture/image/segment.h"

namespace geiger::capture {

/// Where a segment will be full that goes on from here; 0 = never.
[[nodiscard]] Bytes full_at(const Segment& segment);

/// Whether the image should go on in another segment.
[[nodiscard]] bool is_next_due(const Segment& segment);

/// Goes on in the next segment, unless another thread does so already. To be called where the
/// thread is outside of every allocator.
void go_on_in_next();

/// Carries a sample on that was inserted as of `before`, if it is still there.
void carry(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value);

}  // namespace geiger::capture
