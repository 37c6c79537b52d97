// Windows of an image in a file: where trace::RecordWalk reads from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace geiger::ingest {

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

}  // namespace geiger::ingest
