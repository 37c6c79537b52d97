// Counts the records of a trace while it grows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/ingest/decode/growing_image.h"
#include "base/units.h"

namespace geiger::control {

/// Records so far.
struct RecordCounts {
  std::uint64_t samples = 0;
  std::uint64_t frees = 0;
  std::uint64_t carried = 0;  ///< Samples of earlier segments, still live.
  std::uint64_t stacks = 0;
  std::uint64_t mappings = 0;
  std::uint64_t epochs = 0;
  Bytes interval = 0;  ///< Of the last epoch, in force now; 0: none yet.

  /// Samples not freed, according to the records.
  [[nodiscard]] std::uint64_t live() const {
    return samples + carried - std::min(samples + carried, frees);
  }
};

/// Follows the first image of a trace.
class TraceTally : public trace::RecordSink {
 public:
  using RecordSink::on;

  /// `fd` belongs to the caller and must stay open as long as this exists.
  explicit TraceTally(int fd) : image_(fd) {}

  /// Reads what was added. False: it cannot be read as a trace.
  bool update(Nanoseconds now);
  [[nodiscard]] const RecordCounts& counts() const { return counts_; }

  void on(const trace::Record&, const trace::SampleRecord&) { ++counts_.samples; }
  void on(const trace::Record&, const trace::FreeRecord&) { ++counts_.frees; }
  void on(const trace::Record&, const trace::CarriedRecord&) { ++counts_.carried; }
  void on(const trace::Record&, const trace::StackRecord&) { ++counts_.stacks; }
  void on(const trace::Record&, const trace::MappingRecord&) { ++counts_.mappings; }
  void on(const trace::Record&, const trace::EpochRecord& epoch) {
    ++counts_.epochs;
    counts_.interval = epoch.interval;
  }

 private:
  ingest::GrowingImage image_;
  RecordCounts counts_;
};

}  // namespace geiger::control
