// Reads the first image of a trace while its process adds to it: each record once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "trace/reader.h"

namespace geiger::ingest {

/// What is reserved and not yet written is left for the next time, unless its writer is a
/// second late: one that was killed never comes back to it.
class GrowingImage {
 public:
  using Take = std::function<void(const trace::Record&)>;

  enum class Progress : std::uint8_t {
    kCaughtUp,    ///< All that was there has been read.
    kBehind,      ///< There is more.
    kUnreadable,  ///< What is there cannot be read as a trace, or not from some record on.
  };

  /// `fd` stays the caller's and open for as long as this lives.
  explicit GrowingImage(int fd) : fd_(fd) {}

  /// Reads what was added, at most about `most` bytes of it (whole windows). `now`: of
  /// CLOCK_MONOTONIC.
  Progress update(Nanoseconds now, const Take& take,
                  Bytes most = std::numeric_limits<Bytes>::max());

  /// As it was at the latest update that could read it; call none before.
  [[nodiscard]] const trace::FileHeader& header() const;
  [[nodiscard]] bool has_header() const { return reader_.has_value(); }
  /// Bytes of records read, and to be read as of the latest update.
  [[nodiscard]] Bytes position() const { return reader_ ? reader_->position() : 0; }
  [[nodiscard]] Bytes end() const { return end_; }
  /// Records read so far, and those that were reserved and given up.
  [[nodiscard]] std::uint64_t records() const { return reader_ ? reader_->committed() : 0; }
  [[nodiscard]] std::uint64_t uncommitted() const { return reader_ ? reader_->uncommitted() : 0; }

  /// Reads a record again that changes in place (threads, tallies) and was taken at `offset`;
  /// valid until the next call of anything here. Nothing if it cannot be read.
  [[nodiscard]] std::optional<trace::Record> reread(std::uint64_t offset);

 private:
  [[nodiscard]] bool read_extent(trace::ImageExtent& extent);
  bool drain(Nanoseconds now, const Take& take);
  [[nodiscard]] bool waits_at(std::uint64_t offset, Nanoseconds now);

  int fd_;
  std::optional<trace::RecordReader> reader_;
  std::vector<std::uint64_t> page_, accepted_;  ///< As read; of the latest header that is one.
  std::vector<std::uint64_t> window_;
  Bytes end_ = 0;
  std::uint64_t waiting_at_ = 0;
  Nanoseconds waiting_since_ = 0;
};

}  // namespace geiger::ingest
