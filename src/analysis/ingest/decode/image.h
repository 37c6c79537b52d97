// The images of a file, windows of one, and the first one while its process adds to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/ingest/files.h"
#include "base/units.h"
#include "trace/reader.h"

namespace geiger::ingest {

// The images of a file: where they are, which process wrote each, and whether it still does.

/// An image of a file, by its header.
class Image {
 public:
  /// Reads and checks the header at `offset`, where image number `index` starts.
  [[nodiscard]] FileOutcome read(const InputFile& file, std::uint64_t offset, std::uint32_t index);

  [[nodiscard]] const trace::FileHeader& header() const { return trace::header_of(page()); }
  /// The process as the recorder knows it, or as it knows itself.
  [[nodiscard]] std::uint32_t pid() const {
    return header().outer_pid != 0 ? header().outer_pid : header().pid;
  }
  [[nodiscard]] const trace::ImageExtent& extent() const { return extent_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }  ///< In the file.
  [[nodiscard]] std::uint32_t index() const { return index_; }    ///< Position in the file.
  /// The header page as it was read.
  [[nodiscard]] std::span<const std::byte> page() const { return std::as_bytes(std::span(page_)); }
  [[nodiscard]] std::uint64_t end() const { return offset_ + extent_.size; }

 private:
  std::array<std::uint64_t, trace::kControlOffset / 8> page_{};
  trace::ImageExtent extent_;
  std::uint64_t offset_ = 0;
  std::uint32_t index_ = 0;
};

/// Whether the image's process still has the file mapped. Asks /proc for the
/// mappings and not for the process alone, because a process id is soon another's
/// and exec leaves the trace behind. False if /proc cannot be read.
[[nodiscard]] bool is_being_written(const InputFile& file, const Image& image);

// Windows of an image in a file: where trace::RecordWalk reads from.

class ImageWindows {
 public:
  /// The image starts at `start` of the file. `fd` stays the caller's and open for as long as
  /// this lives. `bytes`: of a window, more than the largest record.
  ImageWindows(int fd, std::uint64_t start, std::size_t bytes);

  /// The image's bytes from `offset` on, fewer than a window at the file's end. Valid until the
  /// next call.
  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset);

  /// Whether these bytes are zero now, as far as the file has them.
  [[nodiscard]] bool is_zero(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  int fd_;
  std::uint64_t start_;
  /// Not filled before it is read into: most images are smaller, and the pages that they leave
  /// untouched are never made.
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t bytes_;
};

// Reads the first image of a trace while its process adds to it: each record once.

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
