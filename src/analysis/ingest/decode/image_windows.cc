#include "analysis/ingest/decode/image_windows.h"

#include <algorithm>
#include <vector>

#include "analysis/ingest/input_file.h"

namespace geiger::ingest {

ImageWindows::ImageWindows(int fd, std::uint64_t start, std::size_t bytes)
    : fd_(fd),
      start_(start),
      words_(std::make_unique_for_overwrite<std::uint64_t[]>(bytes / sizeof(std::uint64_t))),
      bytes_(bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t)) {}

std::span<const std::byte> ImageWindows::window(std::uint64_t offset) {
  const std::span bytes(reinterpret_cast<std::byte*>(words_.get()), bytes_);
  return bytes.first(read_at(fd_, start_ + offset, bytes));
}

bool ImageWindows::is_zero(std::uint64_t offset, std::uint64_t bytes) const {
  std::vector<std::byte> again(bytes);
  const auto found = std::span(again).first(read_at(fd_, start_ + offset, again));
  return std::ranges::all_of(found, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace geiger::ingest
