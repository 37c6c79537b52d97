#include "analysis/observe/runtime_ranges.h"

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
  return ranges;
}

void move_runtime_ranges(std::span<const Range> ranges, std::span<const Mapping> mappings,
                         std::span<const profile::MapKind> kinds, Pagemap& pagemap,
                         profile::MapTable& maps) {
  MapTotals& own = maps[static_cast<std::size_t>(profile::MapKind::kRuntime)];
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    if (kinds[i] == profile::MapKind::kRuntime) continue;
    for (const Range& range : ranges) {
      const Address start = std::max(range.start, mappings[i].start);
      const Address end = std::min(range.start + range.bytes, mappings[i].end);
      if (start >= end) continue;
      const RangeResidency found = pagemap.residency(start, end - start);
      MapTotals& from = maps[static_cast<std::size_t>(kinds[i])];
      move_bytes(&MapTotals::size, end - start, from, own);
      move_bytes(&MapTotals::resident, found.resident, from, own);
      move_bytes(&MapTotals::swapped, found.swapped, from, own);
    }
  }
}

}  // namespace geiger::observe
