// The average size of the objects of a node: bytes over objects, each estimated.
#pragma once

#include <cstdint>

#include "estimation/checked.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::research {

/// From so many samples on the ratio is normal enough for its own variance.
inline constexpr std::uint64_t kSamplesForRatio = 30;

struct AverageSize {
  double value = 0;  ///< Bytes per object, certain objects included.
  /// Contains `value`. From kSamplesForRatio samples on the delta method's, else
  /// the widest that two intervals of level 1 - alpha/2 for bytes and objects
  /// allow (Bonferroni): wide, but never too narrow while those hold.
  estimation::Interval interval;
  double variance = 0;    ///< Of `value`, by the delta method; 0 if it `is_bound`.
  bool is_bound = false;  ///< Few samples: `interval` is the bound. Not if all is certain.
};

/// Like the count of objects it holds given the sizes seen: objects lighter than
/// the lightest sample would make the average smaller. Where no object is known to
/// be smaller than `least_size` > 0, the bound holds for any mixture of sizes.
/// kCount if nothing was sampled, kLevel for a level outside (0, 1).
[[nodiscard]] estimation::Checked<AverageSize> average_size(const estimation::NodeSums& sums,
                                                            double level, Bytes least_size = 0);

}  // namespace geiger::research
