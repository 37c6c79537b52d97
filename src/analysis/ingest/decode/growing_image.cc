#include "analysis/ingest/decode/growing_image.h"

#include <sys/stat.h>

#include <span>

#include "analysis/ingest/input_file.h"
#include "base/check.h"

namespace geiger::ingest {
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
