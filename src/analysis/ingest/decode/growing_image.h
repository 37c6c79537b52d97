// Reads the first image of a trace while its process adds to it: each record once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/ingest/decode/image_windows.h"
#include "base/units.h"
#include "trace/record_walk.h"

namespace geiger::ingest {

/// Records that are reserved and not yet written are left for the next time, unless their writer is
/// a second late: a killed writer never completes them.
class GrowingImage {
 public:
  using Progress = trace::Progress;

  /// `fd` stays the caller's and open for as long as this lives.
  explicit GrowingImage(int fd);

  /// Finds out how far the image goes now. False: it cannot be read as a trace.
  [[nodiscard]] bool look();

  /// Hands what was added to a sink, at most about `most` bytes of it (whole windows). `now`: of
  /// CLOCK_MONOTONIC.
  template <class Sink>
  Progress update(Nanoseconds now, Sink& sink, Bytes most = trace::kMaxCapacity) {
    if (!look()) return Progress::kUnreadable;
    const auto wait = [&](std::uint64_t offset) {
      return waits_at(offset, now) ? trace::Wait::kComeBack : trace::Wait::kGiveUp;
    };
    return walk_->run(windows_, wait, sink, most);
  }

  /// The header as of the latest successful read or update. Requires one.
  [[nodiscard]] const trace::FileHeader& header() const;
  [[nodiscard]] bool has_header() const { return walk_.has_value(); }
  /// Bytes of records read, and to be read as of the latest update.
  [[nodiscard]] Bytes position() const { return walk_ ? walk_->reader().position() : 0; }
  [[nodiscard]] Bytes end() const { return end_; }
  /// Records read so far, and those that were reserved and given up.
  [[nodiscard]] std::uint64_t records() const { return walk_ ? walk_->reader().committed() : 0; }
  [[nodiscard]] std::uint64_t uncommitted() const {
    return walk_ ? walk_->reader().uncommitted() : 0;
  }

  /// Reads a record again that changes in place (threads, tallies) and was taken at `offset`;
  /// valid until the next call of anything here. Nothing if it cannot be read.
  [[nodiscard]] std::optional<trace::Record> reread(std::uint64_t offset);

 private:
  [[nodiscard]] bool waits_at(std::uint64_t offset, Nanoseconds now);

  int fd_;
  ImageWindows windows_;
  std::optional<trace::RecordWalk> walk_;
  std::vector<std::uint64_t> page_, accepted_;  ///< As read; of the latest header that is one.
  Bytes end_ = 0;
  std::uint64_t waiting_at_ = 0;
  Nanoseconds waiting_since_ = 0;
};

}  // namespace geiger::ingest
