#include "analysis/observe/live_set.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"

namespace geiger::observe {

namespace {

using profile::MapTotals;

void move_bytes(Bytes MapTotals::*member, Bytes bytes, MapTotals& from, MapTotals& to) {
  const Bytes moved = std::min(bytes, from.*member);
  from.*member -= moved;
  to.*member += moved;
}

}  // namespace

std::vector<Range> runtime_ranges(const trace::FileHeader& header) {
  constexpr Address kMostAddress = Address{1} << 56;
  std::vector<Range> ranges;
  for (const trace::RuntimeRange& listed : header.runtime_ranges) {
    const Range range{listed.start.load(std::memory_order_relaxed),
                      listed.bytes.load(std::memory_order_relaxed)};
    if (range.bytes == 0 || range.start > kMostAddress || range.bytes > kMostAddress) continue;
    ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &Range::start);
  return ranges;
}

void OwnMappings::add(Address start, Bytes bytes) {
  if (bytes == 0 || start + bytes < start) return;
  remove(start, bytes);
  ends_[start] = start + bytes;
}

void OwnMappings::remove(Address start, Bytes bytes) {
  const Address end = start + bytes < start ? ~Address{0} : start + bytes;
  auto at = ends_.upper_bound(start);
  if (at != ends_.begin()) --at;
  while (at != ends_.end() && at->first < end) {
    const auto [from, to] = *at;
    if (to <= start) {
      ++at;
      continue;
    }
    at = ends_.erase(at);
    if (from < start) ends_[from] = start;
    if (to > end) ends_[end] = to;
  }
}

void OwnMappings::take(const trace::MappingRecord& record) {
  switch (record.kind) {
    case trace::MappingKind::kMap:
      add(record.address, record.bytes);
      break;
    case trace::MappingKind::kUnmap:
      remove(record.address, record.bytes);
      break;
    case trace::MappingKind::kRemap:
      remove(record.old_address, record.old_bytes);
      add(record.address, record.bytes);
      break;
    default:  // What the break adds lies in [heap].
      break;
  }
}

std::vector<Range> OwnMappings::ranges() const {
  std::vector<Range> ranges;
  for (const auto& [start, end] : ends_) ranges.push_back({start, end - start});
  return ranges;
}

namespace {

/// The bytes of `mapping` in [start, end), by the kernel's own count if that is all of it.
MapTotals part_of(const Mapping& mapping, Address start, Address end, Pagemap& pagemap) {
  if (start == mapping.start && end == mapping.end) {
    return {end - start, mapping.resident, mapping.swapped};
  }
  if (mapping.resident == 0 && mapping.swapped == 0) return {end - start, 0, 0};
  const RangeResidency found = pagemap.residency(start, end - start);
  return {end - start, found.resident, found.swapped};
}

bool is_anonymous(profile::MapKind kind) {
  return kind == profile::MapKind::kMallocHeap || kind == profile::MapKind::kAnonymous ||
         kind == profile::MapKind::kStack;
}

}  // namespace

void move_ranges(std::span<const Range> ranges, std::span<const Mapping> mappings,
                 std::span<const profile::MapKind> kinds, profile::MapKind to, bool only_anonymous,
                 Pagemap& pagemap, profile::MapTable& maps) {
  MapTotals& own = maps[static_cast<std::size_t>(to)];
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    if (kinds[i] == to || (only_anonymous && !is_anonymous(kinds[i]))) continue;
    const auto first = std::ranges::upper_bound(ranges, mappings[i].start, {}, &Range::end);
    for (auto range = first; range != ranges.end() && range->start < mappings[i].end; ++range) {
      const Address start = std::max(range->start, mappings[i].start);
      const Address end = std::min(range->end(), mappings[i].end);
      const MapTotals part = part_of(mappings[i], start, end, pagemap);
      MapTotals& from = maps[static_cast<std::size_t>(kinds[i])];
      move_bytes(&MapTotals::size, part.size, from, own);
      move_bytes(&MapTotals::resident, part.resident, from, own);
      move_bytes(&MapTotals::swapped, part.swapped, from, own);
    }
  }
}

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
                sample.type != 0,
                sample.stack};
  if (sample.requested() < kOwnMapping && places_.size() < kMostPlaces) {
    places_.try_emplace(sample.address / kPlace, sample.address);
  }
}

void LiveSet::on(const trace::Record& record, const trace::SampleRecord& sample) {
  if (sample.time <= first_) add(record.ref(), sample);
}

void LiveSet::on(const trace::Record& record, const trace::CarriedRecord& carried) {
  add(record.ref(), carried.sample);
}

void LiveSet::on(const trace::Record& /*record*/, const trace::ObjectTypeRecord& type) {
  const auto typed = live_.find(type.sample);
  if (typed != live_.end()) typed.value().is_typed = true;
}

void LiveSet::on(const trace::Record& /*record*/, const trace::FreeRecord& free) {
  if (free.time <= last_) live_.erase(free.sample);
}

void LiveSet::on(const trace::Record& /*record*/, const trace::MappingRecord& mapping) {
  if (mapping.time > last_) return;
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

void LiveSet::on(const trace::Record& /*record*/, const trace::EpochRecord& epoch) {
  interval_ = epoch.interval;
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

bool TraceFollower::follow_to_end() {
  constexpr int kMost = 1024;
  constexpr Bytes kAtOnce = 64 * kMiB;
  for (int i = 0; i < kMost; ++i) {
    if (follow(kAtOnce, base::monotonic_now())) return true;
  }
  return false;
}

bool TraceFollower::is_shown_by(std::span<const Mapping> mappings) const {
  return std::ranges::any_of(mappings,
                             [&](const Mapping& mapping) { return mapping.inode == inode(); });
}

}  // namespace geiger::observe
