#include "cli/trace_tally.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>

namespace geiger::cli {
namespace {

constexpr std::size_t kWindowBytes = 64 * kKiB;
/// A writer fills a record within microseconds; one that was killed never does.
constexpr Nanoseconds kPatience = 1'000'000'000;

std::size_t read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace

bool TraceTally::read_extent(trace::ImageExtent& extent) {
  page_.resize(trace::kControlOffset / sizeof(std::uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(page_));
  struct stat status {};
  if (fstat(fd_, &status) != 0 || read_at(fd_, 0, bytes) != bytes.size()) return false;
  return trace::read_header(bytes, static_cast<std::uint64_t>(status.st_size), extent).fault ==
         trace::Fault::kNone;
}

bool TraceTally::update(Nanoseconds now) {
  trace::ImageExtent extent;
  if (!read_extent(extent)) return false;
  if (reader_) {
    reader_->extend(extent);
  } else {
    reader_.emplace(extent);
    window_.resize(kWindowBytes / sizeof(std::uint64_t));
  }
  while (!reader_->is_done()) {
    const auto bytes = std::as_writable_bytes(std::span(window_));
    reader_->feed(bytes.first(read_at(fd_, reader_->position(), bytes)));
    if (!drain(now)) return true;
  }
  return !reader_->has_failed();
}

/// False where a record is not written yet.
bool TraceTally::drain(Nanoseconds now) {
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

bool TraceTally::waits_at(std::uint64_t offset, Nanoseconds now) {
  if (waiting_at_ != offset) {
    waiting_at_ = offset;
    waiting_since_ = now;
  }
  return now < waiting_since_ + kPatience;
}

void TraceTally::take(const trace::Record& record) {
  switch (record.header.type) {
    case trace::RecordType::kSample:
      ++counts_.samples;
      break;
    case trace::RecordType::kFree:
      ++counts_.frees;
      break;
    case trace::RecordType::kCarried:
      ++counts_.carried;
      break;
    case trace::RecordType::kStack:
      ++counts_.stacks;
      break;
    case trace::RecordType::kMapping:
      ++counts_.mappings;
      break;
    case trace::RecordType::kEpoch:
      ++counts_.epochs;
      counts_.interval = record.as<trace::EpochRecord>().interval;
      break;
    default:
      break;
  }
}

}  // namespace geiger::cli
