#include "analysis/observe/live_set.h"

#include <algorithm>
#include <iterator>

namespace geiger::observe {
namespace {

constexpr Bytes kPlace = 64 * kKiB;
constexpr std::size_t kMostPlaces = 1U << 18;
/// Objects from here on get mappings of their own from some allocators (glibc's first
/// threshold), and leave them to whoever maps next.
constexpr Bytes kOwnMapping = 128 * kKiB;

constexpr std::size_t kWindowBytes = std::size_t{256} << 10;
/// A writer fills a record within microseconds; one that was killed never does.
constexpr Nanoseconds kPatience = 1'000'000'000;

}  // namespace

void LiveSet::add(trace::Ref ref, const trace::SampleRecord& sample) {
  if (sample.heap() != 0) return;  // Not the allocator's: perhaps not even memory of ours.
  live_[ref] = {ref, sample.address, sample.requested(), sample.usable()};
  if (sample.requested() < kOwnMapping && places_.size() < kMostPlaces) {
    places_.try_emplace(sample.address / kPlace, sample.address);
  }
}

void LiveSet::take(const trace::Record& record) {
  if (record.header.type == trace::RecordType::kSample) {
    add(record.ref(), record.as<trace::SampleRecord>());
  } else if (record.header.type == trace::RecordType::kCarried) {
    const bool is_void = (record.header.flags & trace::kFlagVoid) != 0;
    if (!is_void) add(record.ref(), record.as<trace::CarriedRecord>().sample);
  } else if (record.header.type == trace::RecordType::kFree) {
    live_.erase(record.as<trace::FreeRecord>().sample);
  } else if (record.header.type == trace::RecordType::kMapping) {
    map(record.as<trace::MappingRecord>());
  }
}

void LiveSet::map(const trace::MappingRecord& record) {
  mappings_.take(record);
  const bool is_new =
      record.kind == trace::MappingKind::kMap || record.kind == trace::MappingKind::kRemap;
  if (!is_new || record.address + record.bytes < record.address) return;
  // Objects that were there before are gone.
  const Address end = record.address + record.bytes;
  for (auto place = places_.lower_bound(record.address / kPlace);
       place != places_.end() && place->first * kPlace < end;) {
    const bool is_inside = place->second >= record.address && place->second < end;
    place = is_inside ? places_.erase(place) : std::next(place);
  }
}

std::vector<LiveSample> LiveSet::by_address() const {
  std::vector<LiveSample> samples;
  samples.reserve(live_.size());
  for (const auto& [ref, sample] : live_) samples.push_back(sample);
  std::ranges::sort(samples, {},
                    [](const LiveSample& sample) { return std::pair(sample.address, sample.ref); });
  return samples;
}

bool LiveSet::is_heap(Address start, Address end) const {
  for (auto place = places_.lower_bound(start / kPlace);
       place != places_.end() && place->first * kPlace < end; ++place) {
    if (place->second >= start && place->second < end) return true;
  }
  return false;
}

std::optional<std::string> TraceFollower::open(const std::string& path) {
  if (const auto error = file_.open(path)) return error->text();
  page_.resize(trace::kControlOffset / sizeof(std::uint64_t));
  window_.resize(kWindowBytes / sizeof(std::uint64_t));
  trace::ImageExtent extent;
  if (!read_extent(extent)) return path + ": not a trace that can be followed";
  reader_.emplace(extent);
  return std::nullopt;
}

bool TraceFollower::read_extent(trace::ImageExtent& extent) {
  const auto bytes = std::as_writable_bytes(std::span(page_));
  if (file_.read_at(0, bytes) != bytes.size()) return false;
  return trace::read_header(page(), std::max(file_.size(), header().capacity), extent).fault ==
         trace::Fault::kNone;
}

bool TraceFollower::follow(Bytes most, Nanoseconds now) {
  trace::ImageExtent extent;
  if (!reader_ || !read_extent(extent)) return false;
  reader_->extend(extent);
  const std::uint64_t stop = reader_->position() + most;
  while (!reader_->is_done()) {
    if (reader_->position() >= stop) return false;
    const auto bytes = std::as_writable_bytes(std::span(window_));
    reader_->feed(bytes.first(file_.read_at(reader_->position(), bytes)));
    if (!drain(now)) return true;
  }
  return !reader_->has_failed();
}

/// False where a record is not written yet.
bool TraceFollower::drain(Nanoseconds now) {
  for (auto step = reader_->next(); step != trace::Step::kWindow; step = reader_->next()) {
    if (step == trace::Step::kRecord) {
      live_.take(reader_->record());
    } else if (step == trace::Step::kHole && waits_at(reader_->hole().offset, now)) {
      reader_->retry_hole();
      return false;
    } else if (step == trace::Step::kPending) {
      const std::uint64_t offset = reader_->position();
      if (!waits_at(offset, now)) continue;
      reader_->retry_reserved();
      return false;
    }
  }
  return true;
}

bool TraceFollower::waits_at(std::uint64_t offset, Nanoseconds now) {
  if (waiting_at_ != offset) {
    waiting_at_ = offset;
    waiting_since_ = now;
  }
  return now < waiting_since_ + kPatience;
}

}  // namespace geiger::observe
