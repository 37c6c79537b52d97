#include "analysis/profile/frames/stack_answers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/profile/frames/frame_rules.h"
#include "vocabulary/vocabulary.h"

namespace geiger::profile {
namespace {

std::set<std::uint32_t> modules_of(const Labels& labels, const std::vector<bool>& which) {
  std::set<std::uint32_t> modules;
  for (std::uint32_t i = 0; i < which.size(); ++i) {
    if (which[i]) modules.insert(labels[i].module);
  }
  return modules;
}

/// By label: whether it is of a function without a line that may be in a file asked for.
std::vector<bool> may_be_in_file(const Recording& recording, const Labels& labels,
                                 const std::vector<bool>& is_in_file) {
  const std::set<std::uint32_t> modules = modules_of(labels, is_in_file);
  std::vector<bool> may_be;
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const bool has_file = label.frame_or_location != kNone && !label.is_location &&
                          !recording.frames[label.frame_or_location].file.empty();
    may_be.push_back(!has_file && modules.contains(label.module));
  }
  return may_be;
}

/// By label: whether it is of a frame without a name that may be of a function asked for.
std::vector<bool> may_be_named(const Recording& recording, const Labels& labels,
                               const std::vector<bool>& is_named) {
  const std::set<std::uint32_t> modules = modules_of(labels, is_named);
  std::vector<bool> may_be;
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const std::uint32_t module = labels[i].module;
    const bool is_of_runtime =
        module != kNone && is_standard_module(recording.modules[module].path);
    may_be.push_back(labels[i].is_unnamed() &&
                     (modules.empty() ? !is_of_runtime : modules.contains(module)));
  }
  return may_be;
}

}  // namespace

bool is_whole(const Recording& recording, std::uint32_t stack) {
  if (stack == kNone) return false;
  const Stack& asked = recording.stacks[stack];
  if (asked.is_truncated || asked.locations.empty()) return false;
  const auto& frames = recording.locations[asked.locations.front()].frames;
  return frames.empty() || recording.frames[frames.front()].function != kUntoldStacks;
}

bool has_stacks_at_limit(const Recording& recording) {
  constexpr std::size_t kOwnFrames = 15;
  return std::ranges::any_of(recording.stacks, [](const Stack& stack) {
    return stack.is_truncated && stack.locations.size() + kOwnFrames >= vocabulary::kUsualFrames;
  });
}

Profile with_cut_stacks(const Recording& recording, const Profile& profile) {
  std::vector<Entry> cut = profile.entries;
  std::erase_if(cut, [&](const Entry& entry) { return is_whole(recording, entry.stack); });
  return with_entries(profile, std::move(cut));
}

std::vector<Answer> stacks_through(const Recording& recording, const Labels& labels,
                                   const AskedLabels& asked, StackDoubts& doubts) {
  const std::vector<bool> may_be = may_be_named(recording, labels, asked.is_named);
  const std::vector<bool> may_lie = may_be_in_file(recording, labels, asked.is_in_file);
  std::vector<Answer> answers;
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    labels.collect(recording, i, path);
    const auto has = [&](const std::vector<bool>& which) {
      return std::ranges::any_of(path, [&](std::uint32_t label) { return which[label]; });
    };
    const bool is_so = has(asked.is_named);
    const bool is_cut = !is_so && !is_whole(recording, i);
    const bool is_unnamed = !is_so && has(may_be);
    const bool is_lineless = !is_so && has(may_lie);
    doubts.cut |= is_cut;
    doubts.unnamed |= is_unnamed;
    doubts.lineless |= is_lineless;
    answers.push_back(is_cut || is_unnamed || is_lineless ? Answer::kOpen : Answer(is_so));
  }
  return answers;
}

}  // namespace geiger::profile
