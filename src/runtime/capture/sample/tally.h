// Aggregated recording: counts samples that are alike instead of recording each, so that the trace
// grows with the program's kinds of allocation, not with time.
//
//   sample:  TallyRecord of (stack, epoch, size, usable size, ...)  -> allocated + 1
//            live table: address -> the tally
//   free:    freed + 1
//
// When a trace is nearly full, new kinds are counted without their stack, by sizes rounded to 32
// per octave: at most a few thousand tallies, for which there is always room.
//
// Threads / Signals: lock-free; two threads that see the same kind first may both write a tally,
// and readers add them. Fork: the child's trace has its own. Allocates: pages from the kernel when
// its table grows.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// Counts a sample, by the fields that samples can share, and returns its tally. 0: no room.
trace::Ref tally(Segment& segment, const trace::SampleRecord& sample, std::uint8_t flags);

/// Counts the free of a sample that the tally counted.
void tally_free(const Segment& segment, trace::Ref tally);

/// Stops tracking a sample that the tally counted: moves it to the tally of untracked samples of
/// its kind.
void stop_tracking(Segment& segment, trace::Ref tally);

/// Whether new kinds of samples are still recorded with stacks and names.
[[nodiscard]] bool tells_apart(const Segment& segment);

/// Like trace::chance_of, for samples without a record of their own.
[[nodiscard]] std::uint64_t chance_of_address(std::uint64_t address);

}  // namespace geiger::capture
