// Aggregated recording: samples that are alike are counted and not kept one by one, so that
// the trace grows with the kinds of allocation that a program has, not with time.
//
//   sample:  TallyRecord of (stack, epoch, size, usable size, ...)  -> allocated + 1
//            live table: address -> the tally
//   free:    freed + 1
//
// When a trace is nearly full, what is new is counted without its stack, by sizes rounded to
// 32 per octave: a few thousand tallies at most, for which there is always room.
//
// Threads / Signals: lock-free; of two threads that meet the same kind first both write a
// tally, and readers add them. Fork: the child's trace has its own. Allocates: pages from the
// kernel when its table grows.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// Counts a sample, by the fields that samples can share, and returns its tally. 0: no room.
trace::Ref tally(Segment& segment, const trace::SampleRecord& sample, std::uint8_t flags);

/// A sample that the tally counted is freed.
void tally_free(const Segment& segment, trace::Ref tally);

/// The free of a sample that the tally counted will not be recorded: moves the sample to the tally
/// of its untracked likes.
void stop_tracking(Segment& segment, trace::Ref tally);

/// Whether new kinds of samples, their stacks and names still go into the trace.
[[nodiscard]] bool tells_apart(const Segment& segment);

/// As trace::chance_of, of what is not a record of its own.
[[nodiscard]] std::uint64_t chance_of_address(std::uint64_t address);

}  // namespace geiger::capture
