#include "analysis/profile/recording/cut.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

void cut_at(Recording& recording, Nanoseconds instant) {
  cut_at(recording, std::vector<Nanoseconds>(recording.processes.size(), instant));
}

void forget_free(Sample& sample) {
  sample.free_time = 0;
  sample.free_thread = sample.free_stack = kNone;
  sample.free_unseen = false;
}

void cut_at(Recording& recording, std::span<const Nanoseconds> instants) {
  const auto is_later = [&](const auto& event) { return event.time >= instants[event.process]; };
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    std::erase_if(*samples, is_later);
    for (Sample& sample : *samples) {
      if (sample.free_time >= instants[sample.process]) forget_free(sample);
    }
  }
  std::erase_if(recording.mappings, is_later);
  std::erase_if(recording.marks, is_later);
  std::erase_if(recording.faults, is_later);
  recording.utilization.clear();
  recording.residency_answers.clear();
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    Process& process = recording.processes[i];
    process.end = std::max(process.start, std::min(process.end, instants[i]));
  }
}

namespace {

/// What to take off a stack: whole locations, and of the next one the frames inlined innermost.
struct Cut {
  std::size_t locations = 0;
  std::size_t frames = 0;
};

/// Never all of a stack.
Cut cut_of(const Recording& recording, const Stack& stack, std::size_t frames) {
  Cut cut;
  for (; cut.locations < stack.locations.size(); ++cut.locations) {
    const Location& location = recording.locations[stack.locations[cut.locations]];
    const std::size_t size = std::max<std::size_t>(location.frames.size(), 1);
    const bool is_last = cut.locations + 1 == stack.locations.size();
    if (size > frames || is_last) {
      cut.frames = std::min(frames, size - 1);
      break;
    }
    frames -= size;
  }
  return cut;
}

/// Locations without their innermost frames: the same places, seen by fewer.
class ShortLocations {
 public:
  explicit ShortLocations(Recording& recording) : recording_(recording) {}

  std::uint32_t without(std::uint32_t location, std::size_t frames) {
    const auto next = static_cast<std::uint32_t>(recording_.locations.size());
    const auto [place, is_new] = known_.try_emplace(std::pair(location, frames), next);
    if (is_new) {
      Location shorter = recording_.locations[location];
      shorter.frames.erase(shorter.frames.begin(),
                           shorter.frames.begin() + static_cast<std::ptrdiff_t>(frames));
      recording_.locations.push_back(std::move(shorter));
    }
    return place->second;
  }

 private:
  Recording& recording_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> known_;
};

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
  ShortLocations shorter(recording);
  for (Stack& stack : recording.stacks) {
    const Cut cut = cut_of(recording, stack, leading(recording, stack));
    stack.locations.erase(stack.locations.begin(),
                          stack.locations.begin() + static_cast<std::ptrdiff_t>(cut.locations));
    if (cut.frames != 0) stack.locations[0] = shorter.without(stack.locations[0], cut.frames);
    shortened += cut.locations + cut.frames != 0;
  }
  if (shortened == 0) return 0;
  const std::vector<std::uint32_t> moved = unify(recording.stacks);
  for_each_stack(recording, [&moved](std::uint32_t& stack, std::uint32_t /*process*/) {
    if (stack != kNone) stack = moved[stack];
  });
  return shortened;
}

}  // namespace geiger::profile
