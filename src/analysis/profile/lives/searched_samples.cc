#include "analysis/profile/lives/searched_samples.h"

#include "analysis/profile/lives/lifetimes.h"

namespace geiger::profile {

SearchedSamples::SearchedSamples(const Recording& recording, const Suppressions* suppressions,
                                 const Keeps& keeps)
    : keeps_(keeps) {
  if (suppressions == nullptr || suppressions->is_empty()) return;
  patterns_ = suppressions->size();
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    by_stack_.push_back(suppressions->match(recording, i));
  }
}

std::vector<SuppressedLeaks> SearchedSamples::suppressed(const Recording& recording) const {
  std::vector<std::vector<std::uint32_t>> live(patterns_);
  for (std::uint32_t i = 0; i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const std::uint32_t pattern = pattern_of(sample);
    const bool is_live = sample.free_time == 0 && !sample.is_thinned_out;
    if (pattern == kNone || !is_live || !is_wanted(sample)) continue;
    live[pattern].push_back(i);
  }
  std::vector<SuppressedLeaks> found;
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    if (live[i].empty()) continue;
    found.push_back({i, live[i].size(), sums_of_samples(recording, live[i])});
  }
  return found;
}

}  // namespace geiger::profile
