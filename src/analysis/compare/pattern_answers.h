// Which patterns apply to the stacks of one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/compare/pattern.h"
#include "analysis/compare/places.h"
#include "analysis/profile/answer.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/recording.h"

namespace geiger::compare {

/// Looks into the recording and the patterns.
class PatternAnswers {
 public:
  /// `place_of`: by label, as of Places::of_labels.
  PatternAnswers(const std::vector<Pattern>& patterns, const profile::Recording& recording,
                 const profile::Labels& labels, const std::vector<std::uint32_t>& place_of,
                 const Places& places);

  /// From here on stacks are those of allocations within this label.
  void begin_label(std::uint32_t label) { label_ = label; }

  /// Whether a pattern, by its number, applies to a stack.
  [[nodiscard]] profile::Answer of(std::size_t pattern, std::uint32_t stack) const;

 private:
  const std::vector<Pattern>& patterns_;
  std::vector<std::vector<profile::Answer>> of_stacks_;  ///< By pattern of functions, and stack.
  std::vector<std::vector<profile::Answer>> of_labels_;  ///< By pattern of labels, and label.
  std::uint32_t label_ = profile::kNone;
};

}  // namespace geiger::compare
