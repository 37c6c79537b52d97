#include "analysis/observe/owned_ranges.h"

#include <algorithm>

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

}  // namespace geiger::observe
