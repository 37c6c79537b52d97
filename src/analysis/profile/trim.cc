#include "analysis/profile/trim.h"

#include <algorithm>
#include <map>
#include <utility>

namespace geiger::profile {
namespace {

/// Locations at the leaf that `frames` frames cover whole; never all of them.
std::size_t covered_locations(const Recording& recording, const Stack& stack, std::size_t frames) {
  std::size_t count = 0;
  while (count + 1 < stack.locations.size()) {
    const Location& location = recording.locations[stack.locations[count]];
    const std::size_t size = std::max<std::size_t>(location.frames.size(), 1);
    if (size > frames) break;
    frames -= size;
    ++count;
  }
  return count;
}

/// Keeps the first of equal stacks; returns the new index of every old one.
std::vector<std::uint32_t> unify(std::vector<Stack>& stacks) {
  std::map<std::pair<bool, std::vector<std::uint32_t>>, std::uint32_t> known;
  std::vector<std::uint32_t> moved;
  std::vector<Stack> kept;
  moved.reserve(stacks.size());
  for (Stack& stack : stacks) {
    const auto next = static_cast<std::uint32_t>(kept.size());
    const auto [place, is_new] =
        known.try_emplace(std::pair(stack.is_truncated, stack.locations), next);
    if (is_new) kept.push_back(std::move(stack));
    moved.push_back(place->second);
  }
  stacks = std::move(kept);
  return moved;
}

}  // namespace

std::size_t trim(Recording& recording, const LeadingFrames& leading) {
  std::size_t shortened = 0;
  for (Stack& stack : recording.stacks) {
    const std::size_t cut = covered_locations(recording, stack, leading(recording, stack));
    stack.locations.erase(stack.locations.begin(),
                          stack.locations.begin() + static_cast<std::ptrdiff_t>(cut));
    shortened += cut != 0;
  }
  if (shortened == 0) return 0;
  const std::vector<std::uint32_t> moved = unify(recording.stacks);
  const auto move = [&moved](std::uint32_t& stack) {
    if (stack != kNone) stack = moved[stack];
  };
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    for (Sample& sample : *samples) {
      move(sample.stack);
      move(sample.free_stack);
    }
  }
  for (Tally& tally : recording.tallies) move(tally.alike.stack);
  for (MappingEvent& event : recording.mappings) move(event.stack);
  return shortened;
}

}  // namespace geiger::profile
