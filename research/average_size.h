// The average size of the objects of a node: bytes over objects, each estimated.
#pragma once

#include <cstdint>

#include "estimation/checked.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::research {

/// From so many samples on the ratio is normal enough for its own variance.
inline constexpr std::uint64_t kSamplesForRatio = 30;

/// The sums of a node, and what a ratio of them needs besides.
struct RatioSums : estimation::NodeSums {
  double covariance = 0;  ///< CB = sum z (1-pi)/pi^2, of Y and C.

  /// As NodeSums::add, of samples that are not thinned.
  void add(Bytes size, double lambda, std::uint64_t count = 1);
};

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
/// the lightest sample would make the average smaller. kCount if nothing was sampled, kLevel for a
/// level outside (0, 1).
[[nodiscard]] estimation::Checked<AverageSize> average_size(const RatioSums& sums, double level);

}  // namespace geiger::research
