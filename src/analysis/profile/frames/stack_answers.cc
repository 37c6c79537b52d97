#include "analysis/profile/frames/stack_answers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/profile/frames/plumbing_names.h"

namespace geiger::profile {
namespace {

/// By label: whether it is of a frame without a name that may be of a function asked for.
std::vector<bool> may_be_named(const Recording& recording, const Labels& labels,
                               const std::vector<bool>& is_named) {
  std::set<std::uint32_t> modules;
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    if (is_named[i]) modules.insert(labels[i].module);
  }
  std::vector<bool> may_be;
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const std::uint32_t module = labels[i].module;
    const bool is_of_runtime =
        module != kNone && is_standard_module(recording.modules[module].path);
    const bool is_unnamed = labels[i].is_location || is_address_name(labels[i].name);
    may_be.push_back(is_unnamed && (modules.empty() ? !is_of_runtime : modules.contains(module)));
  }
  return may_be;
}

}  // namespace

bool is_whole(const Recording& recording, std::uint32_t stack) {
  if (stack == kNone) return false;
  const auto& [locations, is_truncated] = recording.stacks[stack];
  if (is_truncated || locations.empty()) return false;
  const auto& frames = recording.locations[locations.front()].frames;
  return frames.empty() || recording.frames[frames.front()].function != kUntoldStacks;
}

Profile with_cut_stacks(const Recording& recording, const Profile& profile) {
  std::vector<Entry> cut = profile.entries;
  std::erase_if(cut, [&](const Entry& entry) { return is_whole(recording, entry.stack); });
  return with_entries(profile, std::move(cut));
}

std::vector<Answer> stacks_through(const Recording& recording, const Labels& labels,
                                   const std::vector<bool>& is_named, StackDoubts& doubts) {
  const std::vector<bool> may_be = may_be_named(recording, labels, is_named);
  std::vector<Answer> answers;
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    labels.collect(recording, i, path);
    const auto has = [&](const std::vector<bool>& which) {
      return std::ranges::any_of(path, [&](std::uint32_t label) { return which[label]; });
    };
    const bool is_so = has(is_named);
    const bool is_cut = !is_so && !is_whole(recording, i);
    const bool is_unnamed = !is_so && has(may_be);
    doubts.cut |= is_cut;
    doubts.unnamed |= is_unnamed;
    answers.push_back(is_cut || is_unnamed ? Answer::kOpen : Answer(is_so));
  }
  return answers;
}

}  // namespace geiger::profile
