// The live samples: in the live table by address, and marked in the filter.
//
// Their number has a cap (GEIGER_LIVE). When it is exceeded, the samples are thinned: each sample
// has from the start a chance (trace::chance_of), which decides whether it stays tracked at level
// L, with probability 2^-L for every sample. Of the others, and of new samples that fail the same
// test, the trace contains only the allocation. Readers weight the tracked ones by 2^L.
//
// Threads / Signals: lock-free. Fork: the child keeps its copy. Allocates: pages from the
// kernel when the table grows.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

/// The live table's value for a sample: the number of its record's segment, never 0, and the
/// record.
[[nodiscard]] inline std::uint64_t live_value(const Segment& segment, trace::Ref record) {
  return std::uint64_t{segment.number.load(std::memory_order_relaxed)} << 32 | record;
}
[[nodiscard]] inline bool is_of(const Segment& segment, std::uint64_t value) {
  return value >> 32 == segment.number.load(std::memory_order_relaxed);
}

/// The sample in a record, which may be a CarriedRecord.
[[nodiscard]] const trace::SampleRecord& sample_at(const Segment& segment, trace::Ref record);

/// Whether the fate of a sample is tracked at the current level.
[[nodiscard]] bool is_tracked(std::uint64_t chance);
[[nodiscard]] std::uint64_t chance_at(const Segment& segment, const trace::SampleRecord& sample);

/// Adds an address to the live samples. False: out of memory.
bool insert_live(const void* key, std::uint64_t value);

/// Removes an address and returns its value in the table, 0 if no live sample has it.
std::uint64_t take_live(const void* key);

/// The last step of a sample: its free is tracked from now on. Raises the level by one if there are
/// too many live samples. Without memory the free is not recorded.
void track(Segment& segment, const void* key, std::uint64_t value);

/// Writes the level in force, if any, into a segment.
void write_thinning(Segment& segment);

}  // namespace geiger::capture
