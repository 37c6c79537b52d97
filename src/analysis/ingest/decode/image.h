// The images of a file: where they are, which process wrote each, and whether it still does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "analysis/ingest/error.h"
#include "analysis/ingest/input_file.h"
#include "trace/reader.h"

namespace geiger::ingest {

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

}  // namespace geiger::ingest
