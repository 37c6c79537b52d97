#include "analysis/profile/recording/observations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/profile/recording/recording.h"
#include "base/text.h"

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
  observations.worked += later.worked;
  observations.refused += later.refused;
  if (observations.fault.empty()) observations.fault = std::move(later.fault);
  if (!later.types.samples.empty() || !later.types.fault.empty()) {
    observations.types = std::move(later.types);
  }
  auto& walks = observations.walks;
  std::ranges::move(later.walks, std::back_inserter(walks));
  thin(walks);
  if (!later.walk_fault.empty()) observations.walk_fault = std::move(later.walk_fault);
  const bool is_newer =
      later.holders && (!observations.holders || later.holders->time >= observations.holders->time);
  if (is_newer) observations.holders = std::move(later.holders);
  if (!later.holders_fault.empty()) observations.holders_fault = std::move(later.holders_fault);
  if (later.last_content) {
    const auto& largest = later.content_at_maximum;
    const auto& known = observations.content_at_maximum;
    if (largest && (!known || largest->resident > known->resident)) {
      observations.content_at_maximum = std::move(later.content_at_maximum);
    }
    observations.last_content = std::move(later.last_content);
    observations.content_fault.clear();
  }
  if (!later.content_fault.empty()) observations.content_fault = std::move(later.content_fault);
  if (later.last) observations.last = std::move(later.last);
  if (!later.at_maximum) return;
  const bool is_larger = !observations.at_maximum || later.at_maximum->counts.resident >
                                                         observations.at_maximum->counts.resident;
  if (is_larger) observations.at_maximum = std::move(later.at_maximum);
}

std::string name_of_holder(const Recording& recording, std::uint32_t holder) {
  return holder == kNone ? std::string(kNotScanned) : recording.holders[holder].name;
}

bool is_open_hold(std::string_view holder) {
  return holder == kNotScanned || holder == kUndecidedHold;
}

namespace {

/// What libstdc++ allocates while the loader starts it. The variable that holds it has no name
/// without debug info.
bool is_exception_pool(const Recording& recording, const Holders& holders, const SampleHold& hold) {
  constexpr std::string_view kLibrary = "libstdc++.so", kLoader = "ld-";
  const std::uint32_t stack = recording.samples[hold.sample].stack;
  const bool may_be = hold.hold == Hold::kReached && stack < recording.stacks.size() &&
                      holders.roots[hold.root].starts_with(kLibrary);
  if (!may_be) return false;
  const auto& locations = recording.stacks[stack].locations;
  const auto is_of = [&](std::uint32_t location, std::string_view file) {
    const std::uint32_t module = recording.locations[location].module;
    return module != kNone && base::file_name_of(recording.modules[module].path).starts_with(file);
  };
  // Frames of the runtime may come first.
  const auto library =
      std::ranges::find_if(locations, [&](auto location) { return is_of(location, kLibrary); });
  const auto loader = std::find_if_not(library, locations.end(),
                                       [&](auto location) { return is_of(location, kLibrary); });
  return loader != locations.end() && std::all_of(loader, locations.end(), [&](auto location) {
           return is_of(location, kLoader);
         });
}

Holder holder_from(const Holders& holders, const SampleHold& sample, std::uint32_t observations,
                   bool is_pool) {
  if (sample.hold == Hold::kReached) {
    const std::uint32_t other =
        sample.root < holders.beside.size() ? holders.beside[sample.root] : kNone;
    return {is_pool ? std::string(kExceptionPool) : holders.roots[sample.root],
            sample.hold,
            sample.is_alone,
            observations,
            sample.path,
            other == kNone ? "" : holders.roots[other]};
  }
  const std::string_view undecided = sample.hold == Hold::kListed ? kOnlyListed : kUndecidedHold;
  return {std::string(is_unreachable(sample.hold) ? kUnreachable : undecided), sample.hold};
}

}  // namespace

void name_holders(Recording& recording) {
  for (std::uint32_t i = 0; i < recording.observations.size(); ++i) {
    if (!recording.observations[i].holders) continue;
    const Holders& holders = *recording.observations[i].holders;
    std::map<std::tuple<Hold, std::uint32_t, std::uint32_t, bool, bool>, std::uint32_t> known;
    for (const SampleHold& each : holders.samples) {
      const auto number = static_cast<std::uint32_t>(recording.holders.size());
      const bool is_pool = is_exception_pool(recording, holders, each);
      const auto [at, is_new] =
          known.try_emplace({each.hold, each.root, each.path, each.is_alone, is_pool}, number);
      if (is_new) recording.holders.push_back(holder_from(holders, each, i, is_pool));
      recording.samples[each.sample].holder = at->second;
    }
  }
}

std::string_view key_of(HeapPart part) {
  constexpr std::string_view kKeys[kHeapParts] = {"used_blocks", "free_blocks", "kept_blocks",
                                                  "uncarved",    "samples",     "large",
                                                  "empty",       "headers",     "unused_blocks"};
  return kKeys[static_cast<std::size_t>(part)];
}

}  // namespace geiger::profile
