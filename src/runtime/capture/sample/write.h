// The third step of a sample's way: writes it, and later its free, into the trace.
//
// The only place that decides how samples are kept: a record each, or, in an aggregated recording,
// as tallies of samples alike (tally.h).
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
  std::uint64_t value;  ///< What the live table is to know the sample by; 0: no room.
  bool is_tracked;      ///< Its free is of interest.
};

/// Writes a sample that is known by `key`, and notifies probes and listener.
[[nodiscard]] Written write_sample(Segment& segment, const Decision& decision,
                                   const Allocation& allocation, const Seen& seen, const void* key);

/// Writes the end of a sample that was taken from the live table, and notifies probes and listener.
/// `state` is null where the thread is not known.
void write_free(Segment& segment, ThreadState* state, std::uint64_t taken, trace::Ref stack,
                std::uint8_t flags);

/// Whether samples alike are counted, and have no record of their own.
[[nodiscard]] inline bool is_aggregated() { return image.settings.aggregates; }

/// Whether frees are to have stacks.
[[nodiscard]] inline bool wants_free_stacks() {
  const bool is_wanted =
      image.settings.free_stacks || image.program.wants_free_stacks.load(std::memory_order_relaxed);
  return is_wanted && !is_aggregated();
}

/// Whether stacks that the trace does not have yet are still written.
[[nodiscard]] bool wants_new_stacks(const Segment& segment);

/// Whether a live sample of this segment is tracked at the level of thinning in force.
[[nodiscard]] bool outlasts_thinning(const Segment& segment, std::uint64_t key, trace::Ref sample);

/// A live sample of this segment is no longer tracked.
void write_untracked(Segment& segment, trace::Ref sample);

}  // namespace geiger::capture
