#include "analysis/compare/pattern_answers.h"

#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/groups/groupings.h"

namespace geiger::compare {

PatternAnswers::PatternAnswers(const std::vector<Pattern>& patterns,
                               const profile::Recording& recording, const profile::Labels& labels,
                               const std::vector<std::uint32_t>& place_of, const Places& places)
    : patterns_(patterns), of_stacks_(patterns.size()), of_labels_(patterns.size()) {
  profile::StackDoubts doubts;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].is_of_label()) of_labels_[i] = answers_of_labels(recording, patterns[i].label);
    if (patterns[i].is_of_label() || patterns[i].matches_everything()) continue;
    profile::AskedLabels asked;
    for (const std::uint32_t place : place_of) {
      asked.is_named.push_back(patterns[i].matches(places[place]));
    }
    of_stacks_[i] = stacks_through(recording, labels, asked, doubts);
  }
}

profile::Answer PatternAnswers::of(std::size_t pattern, std::uint32_t stack) const {
  if (patterns_[pattern].is_of_label()) {
    return label_ == profile::kNone ? profile::Answer::kNo : of_labels_[pattern][label_];
  }
  if (patterns_[pattern].matches_everything()) return true;
  const std::vector<profile::Answer>& answers = of_stacks_[pattern];
  return stack < answers.size() ? answers[stack] : profile::Answer::kOpen;
}

}  // namespace geiger::compare
