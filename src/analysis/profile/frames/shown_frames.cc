#include "analysis/profile/frames/shown_frames.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/labels.h"

namespace geiger::profile {
namespace {

/// Writes the types that stacks contain into the samples, because those frames are often left out.
void keep_types(Recording& recording) {
  const Types types(recording);
  std::vector<std::uint32_t> names(types.size(), kNone);
  const auto keep = [&](std::uint32_t& type, std::uint32_t stack) {
    if (type != kNone) return;
    const std::uint32_t told = types.of(type, stack);
    if (told == Types::kUnknown) return;
    if (names[told] == kNone) {
      names[told] = static_cast<std::uint32_t>(recording.types.size());
      recording.types.push_back({.text = types[told]});
    }
    type = names[told];
  };
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    for (Sample& sample : *samples) keep(sample.type, sample.stack);
  }
  for (Tally& tally : recording.tallies) keep(tally.alike.type, tally.alike.stack);
}

/// Locations with some of their frames: the same places, seen by fewer.
class PartialLocations {
 public:
  explicit PartialLocations(Recording& recording) : recording_(recording) {}

  std::uint32_t with(std::uint32_t location, std::vector<std::uint32_t> frames) {
    const auto next = static_cast<std::uint32_t>(recording_.locations.size());
    const auto [place, is_new] = known_.try_emplace({location, std::move(frames)}, next);
    if (is_new) {
      Location partial = recording_.locations[location];
      partial.frames = place->first.second;
      recording_.locations.push_back(std::move(partial));
    }
    return place->second;
  }

 private:
  Recording& recording_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known_;
};

}  // namespace

void keep_shown_frames(Recording& recording) {
  keep_types(recording);
  const Labels labels(recording);
  const FrameRoles roles(recording, labels);
  PartialLocations partial(recording);
  std::vector<std::uint32_t> path, frames, places;
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    labels.collect(recording, i, path);
    labels.collect_frames(recording, i, frames);
    places.resize(path.size());
    std::iota(places.begin(), places.end(), 0U);
    roles.keep_shown(path, places);
    std::vector<std::uint32_t> kept;
    auto place = places.begin();
    std::size_t end = 0;
    for (const std::uint32_t location : recording.stacks[i].locations) {
      const std::size_t all = labels.of(location).size();
      end += all;
      std::vector<std::uint32_t> of_location;
      for (; place != places.end() && *place < end; ++place) of_location.push_back(frames[*place]);
      if (of_location.empty()) continue;
      const bool is_whole = of_location.size() == all;
      kept.push_back(is_whole ? location : partial.with(location, std::move(of_location)));
    }
    recording.stacks[i].locations = std::move(kept);
  }
}

}  // namespace geiger::profile
