#include "analysis/profile/recording/observations.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace geiger::profile {

void thin(std::vector<ChunkCensus>& walks) {
  while (walks.size() > kMostWalks) {
    for (std::size_t i = 1; 2 * i < walks.size(); ++i) walks[i] = std::move(walks[2 * i]);
    walks.resize((walks.size() + 1) / 2);
  }
}

void append(Observations& observations, Observations later) {
  auto& series = observations.series;
  series.insert(series.end(), later.series.begin(), later.series.end());
  observations.high_water = std::max(observations.high_water, later.high_water);
  observations.cost += later.cost;
  observations.refused += later.refused;
  if (observations.fault.empty()) observations.fault = std::move(later.fault);
  observations.types = std::move(later.types);
  auto& walks = observations.walks;
  std::ranges::move(later.walks, std::back_inserter(walks));
  thin(walks);
  if (!later.walk_fault.empty()) observations.walk_fault = std::move(later.walk_fault);
  if (later.last) observations.last = std::move(later.last);
  if (!later.at_maximum) return;
  const bool is_larger = !observations.at_maximum || later.at_maximum->counts.resident >
                                                         observations.at_maximum->counts.resident;
  if (is_larger) observations.at_maximum = std::move(later.at_maximum);
}

std::string_view key_of(HeapPart part) {
  constexpr std::string_view kKeys[kHeapParts] = {"used_blocks", "free_blocks", "kept_blocks",
                                                  "uncarved",    "samples",     "large",
                                                  "empty",       "headers",     "unused_blocks"};
  return kKeys[static_cast<std::size_t>(part)];
}

}  // namespace geiger::profile
