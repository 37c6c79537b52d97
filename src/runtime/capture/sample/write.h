// The third step of a sample: writes it, and later its free, into the trace.
//
// Only this file decides how samples are stored: one record each, or, in an aggregated recording,
// in tallies (write.cc).
//
// Threads / Signals / Fork: as capture.h. Allocates: never through malloc.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// The properties of a sample that are found before it is written.
struct Seen {
  trace::Ref stack;
  Nanoseconds time;
};

struct Written {
  std::uint64_t value;  ///< The live table's value for the sample; 0: no room.
  bool is_tracked;      ///< Its free is to be recorded.
};

/// Writes a sample with this key in the live table, and notifies probes and listener.
[[nodiscard]] Written write_sample(Segment& segment, const Decision& decision,
                                   const Allocation& allocation, const Seen& seen, const void* key);

/// Writes the free of a sample that was removed from the live table, and notifies probes and
/// listener. `state` is null if the thread is not known.
void write_free(Segment& segment, ThreadState* state, std::uint64_t taken, trace::Ref stack,
                std::uint8_t flags);

/// Whether samples are only counted in tallies, without records of their own.
[[nodiscard]] inline bool is_aggregated() { return image.settings.aggregates; }

/// Whether to record the stacks of frees.
[[nodiscard]] inline bool wants_free_stacks() {
  const bool is_wanted =
      image.settings.free_stacks || image.program.wants_free_stacks.load(std::memory_order_relaxed);
  return is_wanted && !is_aggregated();
}

/// Whether to write stacks that the trace does not contain yet.
[[nodiscard]] bool wants_new_stacks(const Segment& segment);

/// Whether a live sample of this segment is tracked at the level of thinning in force.
[[nodiscard]] bool outlasts_thinning(const Segment& segment, std::uint64_t key, trace::Ref sample);

/// Records that a live sample of this segment is no longer tracked.
void write_untracked(Segment& segment, trace::Ref sample);

}  // namespace geiger::capture
