#include "analysis/compare/pattern_answers.h"

#include <string>

#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/glob.h"
#include "analysis/profile/groups/groupings.h"

namespace geiger::compare {

PatternAnswers::PatternAnswers(const std::vector<Pattern>& patterns,
                               const profile::Recording& recording, const profile::Labels& labels,
                               const std::vector<std::uint32_t>& place_of, const Places& places)
    : patterns_(patterns), recording_(recording), of_stacks_(patterns.size()) {
  profile::StackDoubts doubts;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].is_of_label() || patterns[i].matches_everything()) continue;
    std::vector<bool> is_named;
    for (const std::uint32_t place : place_of) {
      is_named.push_back(patterns[i].matches(places[place]));
    }
    of_stacks_[i] = stacks_through(recording, labels, is_named, doubts);
  }
}

void PatternAnswers::begin_label(std::uint32_t label) {
  is_within_.assign(patterns_.size(), false);
  for (; label != profile::kNone; label = recording_.labels[label].parent) {
    const std::string path = profile::path_of_label(recording_, label);
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const std::string& glob = patterns_[i].label;
      if (profile::matches_glob(glob, path) ||
          profile::matches_glob(glob, recording_.labels[label].text)) {
        is_within_[i] = true;
      }
    }
  }
}

profile::Answer PatternAnswers::of(std::size_t pattern, std::uint32_t stack) const {
  if (patterns_[pattern].is_of_label()) return bool{is_within_[pattern]};
  if (patterns_[pattern].matches_everything()) return true;
  const std::vector<profile::Answer>& answers = of_stacks_[pattern];
  return stack < answers.size() ? answers[stack] : profile::Answer::kOpen;
}

}  // namespace geiger::compare
