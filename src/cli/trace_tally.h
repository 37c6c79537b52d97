// Counts what a trace holds while it grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "trace/reader.h"

namespace geiger::cli {

/// Records so far.
struct RecordCounts {
  std::uint64_t samples = 0;
  std::uint64_t frees = 0;
  std::uint64_t carried = 0;  ///< Samples of earlier segments that lived on.
  std::uint64_t stacks = 0;
  std::uint64_t mappings = 0;
  std::uint64_t epochs = 0;
  Bytes interval = 0;  ///< Of the last epoch: what is drawn with now; 0: none yet.

  /// Samples that have not been freed, as far as the records say.
  [[nodiscard]] std::uint64_t live() const {
    return samples + carried - std::min(samples + carried, frees);
  }
};

/// Follows the first image of a trace. What is reserved and not yet written is left for the
/// next time, unless its writer is a second late.
class TraceTally {
 public:
  /// `fd` stays the caller's and open for as long as this lives.
  explicit TraceTally(int fd) : fd_(fd) {}

  /// Reads what was added. False: what is there cannot be read as a trace.
  bool update(Nanoseconds now);
  [[nodiscard]] const RecordCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool read_extent(trace::ImageExtent& extent);
  bool drain(Nanoseconds now);
  [[nodiscard]] bool waits_at(std::uint64_t offset, Nanoseconds now);
  void take(const trace::Record& record);

  int fd_;
  std::optional<trace::RecordReader> reader_;
  std::vector<std::uint64_t> page_;
  std::vector<std::uint64_t> window_;
  RecordCounts counts_;
  std::uint64_t waiting_at_ = 0;
  Nanoseconds waiting_since_ = 0;
};

}  // namespace geiger::cli
