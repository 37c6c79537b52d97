#include "analysis/ingest/decode/image.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>
#include <vector>

#include "analysis/ingest/files.h"
#include "base/check.h"
#include "base/text.h"

namespace geiger::ingest {

namespace {

/// Whether a line of /proc/PID/maps maps the file shared and writable. The inode
/// and the name must agree; devices may not, on overlay and btrfs.
bool maps_file(const std::string& line, std::uint64_t inode, const std::string& name) {
  std::istringstream fields(line);
  std::string range;
  std::string permissions;
  std::string offset;
  std::string device;
  std::string path;
  std::uint64_t mapped = 0;
  fields >> range >> permissions >> offset >> device >> mapped;
  std::getline(fields, path);
  return mapped == inode && permissions.starts_with("rw") && permissions.ends_with("s") &&
         path.ends_with("/" + name);
}

}  // namespace

FileOutcome Image::read(const InputFile& file, std::uint64_t offset, std::uint32_t index) {
  offset_ = offset;
  index_ = index;
  const auto page = std::as_writable_bytes(std::span(page_));
  const std::size_t count = file.read_at(offset, page);
  const std::uint64_t available = file.size() - offset;
  const trace::TraceError fault =
      trace::read_header(page.first(count), std::max<std::uint64_t>(available, count), extent_);
  if (fault.fault == trace::Fault::kNone) return {};
  return trace_fault(file.path(), offset, fault);
}

bool is_being_written(const InputFile& file, const Image& image) {
  const trace::State state = image.header().state.load(std::memory_order_relaxed);
  const bool has_ended = state == trace::State::kExited || state == trace::State::kStopped;
  if (image.extent().is_sealed || has_ended) return false;
  std::ifstream maps(fmt::format("/proc/{}/maps", image.pid()));
  const std::string name(base::file_name_of(file.path()));
  for (std::string line; std::getline(maps, line);) {
    if (maps_file(line, file.inode(), name)) return true;
  }
  return false;
}

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

namespace {

constexpr std::size_t kGrowingWindowBytes = 64 * kKiB;
static_assert(kGrowingWindowBytes / 8 > trace::kMaxRecordWords);
/// A writer fills a record within microseconds; one that was killed never does.
constexpr Nanoseconds kPatience = 1'000'000'000;

}  // namespace

GrowingImage::GrowingImage(int fd) : fd_(fd), windows_(fd, 0, kGrowingWindowBytes) {}

const trace::FileHeader& GrowingImage::header() const {
  GEIGER_ASSERT(!accepted_.empty());
  return trace::header_of(std::as_bytes(std::span(accepted_)));
}

bool GrowingImage::look() {
  page_.resize(trace::kControlOffset / sizeof(std::uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(page_));
  struct stat status {};
  if (fstat(fd_, &status) != 0 || read_at(fd_, 0, bytes) != bytes.size()) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  trace::ImageExtent extent;
  if (trace::read_header(bytes, size, extent).fault != trace::Fault::kNone) return false;
  accepted_ = page_;
  end_ = extent.records_end;
  if (walk_) {
    walk_->extend(extent);
  } else {
    walk_.emplace(extent, true);
  }
  return true;
}

bool GrowingImage::waits_at(std::uint64_t offset, Nanoseconds now) {
  if (waiting_at_ != offset) {
    waiting_at_ = offset;
    waiting_since_ = now;
  }
  return now < waiting_since_ + kPatience;
}

std::optional<trace::Record> GrowingImage::reread(std::uint64_t offset) {
  page_.resize(trace::kControlOffset / sizeof(std::uint64_t));
  const auto words = std::span(page_);
  const std::size_t bytes = read_at(fd_, offset, std::as_writable_bytes(words));
  if (bytes < sizeof(std::uint64_t)) return std::nullopt;
  const auto header = trace::RecordHeader::unpack(words[0]);
  if (header.words == 0 || header.words * sizeof(std::uint64_t) > bytes) return std::nullopt;
  return trace::Record{header, offset, words.first(header.words)};
}

}  // namespace geiger::ingest
