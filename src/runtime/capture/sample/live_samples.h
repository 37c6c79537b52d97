// The samples that live: in the live table by their address, marked in the filter.
//
// Their number has a cap (GEIGER_LIVE). Beyond it the samples are thinned: which of them
// outlast level L is decided by a chance that each had from the start (trace::chance_of), so
// with probability 2^-L whatever they are; of the others, and of those to come that fail the
// same test, the trace says no more than that they were allocated. Readers weight what is left
// by 2^L.
//
// Threads / Signals: lock-free. Fork: the child keeps its copy. Allocates: pages from the
// kernel when the table grows.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// The live table's value of a sample: the number of the segment that its record is in, never 0,
/// and the record.
[[nodiscard]] inline std::uint64_t live_value(const Segment& segment, trace::Ref record) {
  return std::uint64_t{segment.number.load(std::memory_order_relaxed)} << 32 | record;
}
[[nodiscard]] inline bool is_of(const Segment& segment, std::uint64_t value) {
  return value >> 32 == segment.number.load(std::memory_order_relaxed);
}

/// The sample of a record, which may be one that was carried on.
[[nodiscard]] const trace::SampleRecord& sample_at(const Segment& segment, trace::Ref record);

/// Whether the fate of a sample is still of interest.
[[nodiscard]] bool is_tracked(std::uint64_t chance);
[[nodiscard]] std::uint64_t chance_at(const Segment& segment, const trace::SampleRecord& sample);

/// Puts an address among the live samples. False: out of memory.
bool insert_live(const void* key, std::uint64_t value);

/// Removes an address and returns its value in the table, 0 if it is not that of a live sample.
std::uint64_t take_live(const void* key);

/// The last step of a sample's way: from here on its free is of interest. Goes one level up if
/// there are too many. Without memory the free is not recorded.
void track(Segment& segment, const void* key, std::uint64_t value);

/// Says in a segment which level is in force, if any is.
void write_thinning(Segment& segment);

}  // namespace geiger::capture
