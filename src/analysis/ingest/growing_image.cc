#include "analysis/ingest/growing_image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace geiger::ingest {
namespace {

constexpr std::size_t kGrowingWindowBytes = 64 * kKiB;
static_assert(kGrowingWindowBytes / 8 > trace::kMaxRecordWords);
/// A writer fills a record within microseconds; one that was killed never does.
constexpr Nanoseconds kPatience = 1'000'000'000;

std::size_t read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace

const trace::FileHeader& GrowingImage::header() const {
  return trace::header_of(std::as_bytes(std::span(accepted_)));
}

bool GrowingImage::read_extent(trace::ImageExtent& extent) {
  page_.resize(trace::kControlOffset / sizeof(std::uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(page_));
  struct stat status {};
  if (fstat(fd_, &status) != 0 || read_at(fd_, 0, bytes) != bytes.size()) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (trace::read_header(bytes, size, extent).fault != trace::Fault::kNone) return false;
  accepted_ = page_;
  end_ = extent.records_end;
  return true;
}

GrowingImage::Progress GrowingImage::update(Nanoseconds now, const Take& take, Bytes most) {
  trace::ImageExtent extent;
  if (!read_extent(extent)) return Progress::kUnreadable;
  if (reader_) {
    reader_->extend(extent);
  } else {
    reader_.emplace(extent);
    window_.resize(kGrowingWindowBytes / sizeof(std::uint64_t));
  }
  const Bytes begin = reader_->position();
  while (!reader_->is_done()) {
    if (reader_->position() - begin >= most) return Progress::kBehind;
    const auto bytes = std::as_writable_bytes(std::span(window_));
    reader_->feed(bytes.first(read_at(fd_, reader_->position(), bytes)));
    if (!drain(now, take)) return Progress::kCaughtUp;
  }
  return reader_->has_failed() ? Progress::kUnreadable : Progress::kCaughtUp;
}

/// False where a record is not written yet.
bool GrowingImage::drain(Nanoseconds now, const Take& take) {
  for (auto step = reader_->next(); step != trace::Step::kWindow; step = reader_->next()) {
    if (step == trace::Step::kRecord) {
      take(reader_->record());
    } else if (step == trace::Step::kHole && waits_at(reader_->hole().offset, now)) {
      reader_->retry_hole();
      return false;
    } else if (step == trace::Step::kPending && waits_at(reader_->position(), now)) {
      reader_->retry_reserved();
      return false;
    }
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
