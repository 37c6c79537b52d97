// Which samples a search for leaks looks at: those that the caller wants and no suppression
// matches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/profile/lives/suppressions.h"
#include "analysis/profile/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// What one suppression took out of the search.
struct SuppressedLeaks {
  std::uint32_t pattern = 0;  ///< Index into the suppressions.
  std::uint64_t samples = 0;  ///< Alive at the end.
  estimation::NodeSums live;
};

class SearchedSamples {
 public:
  /// `suppressions` may be null; an empty `keeps` wants all samples. Both outlive it.
  SearchedSamples(const Recording& recording, const Suppressions* suppressions, const Keeps& keeps);

  [[nodiscard]] bool is_searched(const Sample& sample) const {
    return is_wanted(sample) && pattern_of(sample) == kNone;
  }

  /// In order of patterns, those that matched something live.
  [[nodiscard]] std::vector<SuppressedLeaks> suppressed(const Recording& recording) const;

 private:
  [[nodiscard]] bool is_wanted(const Sample& sample) const {
    return answer_of(keeps_, sample) == Answer::kYes;
  }
  /// The suppression that a sample's stack falls under.
  [[nodiscard]] std::uint32_t pattern_of(const Sample& sample) const {
    return sample.stack < by_stack_.size() ? by_stack_[sample.stack] : kNone;
  }

  const Keeps& keeps_;
  std::size_t patterns_ = 0;
  std::vector<std::uint32_t> by_stack_;  ///< Empty without suppressions.
};

}  // namespace geiger::profile
