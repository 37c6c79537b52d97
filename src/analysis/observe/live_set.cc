#include "analysis/observe/live_set.h"

#include <algorithm>
#include <iterator>

namespace geiger::observe {
namespace {

constexpr Bytes kPlace = 64 * kKiB;
constexpr std::size_t kMostPlaces = 1U << 18;
/// Objects from here on get mappings of their own from some allocators (glibc's first threshold),
/// and free addresses that any later mmap may get.
constexpr Bytes kOwnMapping = 128 * kKiB;

}  // namespace

std::vector<Range> extents_of(std::span<const LiveSample> samples) {
  std::vector<Range> extents;
  for (const LiveSample& sample : samples) {
    const Address end = sample.address + std::max<Bytes>(sample.requested, 1);
    if (end < sample.address) continue;
    if (extents.empty() || extents.back().end() < sample.address) {
      extents.push_back({sample.address, end - sample.address});
    } else {
      Range& last = extents.back();
      last.bytes = std::max(last.end(), end) - last.start;
    }
  }
  return extents;
}

void LiveSet::add(trace::Ref ref, const trace::SampleRecord& sample) {
  if (sample.heap() != 0) return;  // Not the allocator's: perhaps not even memory of ours.
  live_[ref] = {ref,
                sample.address,
                sample.requested(),
                sample.usable(),
                sample.entry_point(),
                sample.type != 0};
  if (sample.requested() < kOwnMapping && places_.size() < kMostPlaces) {
    places_.try_emplace(sample.address / kPlace, sample.address);
  }
}

void LiveSet::on(const trace::Record& record, const trace::SampleRecord& sample) {
  add(record.ref(), sample);
}

void LiveSet::on(const trace::Record& record, const trace::CarriedRecord& carried) {
  add(record.ref(), carried.sample);
}

void LiveSet::on(const trace::Record& /*record*/, const trace::ObjectTypeRecord& type) {
  const auto typed = live_.find(type.sample);
  if (typed != live_.end()) typed.value().is_typed = true;
}

void LiveSet::on(const trace::Record& /*record*/, const trace::FreeRecord& free) {
  live_.erase(free.sample);
}

void LiveSet::on(const trace::Record& /*record*/, const trace::MappingRecord& mapping) {
  mappings_.take(mapping);
  const bool is_new =
      mapping.kind == trace::MappingKind::kMap || mapping.kind == trace::MappingKind::kRemap;
  if (!is_new || mapping.address + mapping.bytes < mapping.address) return;
  // Objects that were there before are gone.
  const Address end = mapping.address + mapping.bytes;
  for (auto place = places_.lower_bound(mapping.address / kPlace);
       place != places_.end() && place->first * kPlace < end;) {
    const bool is_inside = place->second >= mapping.address && place->second < end;
    place = is_inside ? places_.erase(place) : std::next(place);
  }
}

void LiveSet::on(const trace::Record& /*record*/, const trace::InterpreterRecord& interpreter) {
  const bool is_free = interpreter.frames == vocabulary::InterpretedFrames::kFreeThreaded;
  interpreters_[interpreter.start] = is_free ? 0 : interpreter.version;
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

base::Outcome<void> TraceFollower::open(const std::string& path) {
  if (const auto opened = file_.open(path); !opened.has_value()) {
    return base::Failure{opened.failure().text()};
  }
  image_.emplace(file_.descriptor());
  if (!image_->look()) return base::Failure{path + ": not a trace that can be followed"};
  return {};
}

bool TraceFollower::follow(Bytes most, Nanoseconds now) {
  return image_ && image_->update(now, live_, most) == ingest::GrowingImage::Progress::kCaughtUp;
}

}  // namespace geiger::observe
