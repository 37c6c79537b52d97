// How long objects live, from samples of which some were still alive at the end: the
// weighted Kaplan-Meier curve.
//
// Whether an allocation is a sample does not depend on how long it will live, so
// weighted curves are unbiased. What is not: the mean over those that were seen dying
// (short lives are over-represented) and the age of those that are alive (long ones
// are).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimation/estimate.h"

namespace geiger::estimation {

/// One sample. Weigh with z/pi for a curve over bytes, with 1/pi for one over objects.
struct Lifetime {
  double length = 0;      ///< Any unit, >= 0: until its free, or as long as it was watched.
  bool is_freed = false;  ///< False: still alive then (censored).
  double weight = 1;      ///< > 0.
};

/// The share alive just after `length`, at the lengths where objects were freed.
struct SurvivalStep {
  double length = 0;
  double alive = 1;
  Interval band;       ///< Pointwise; within [0, 1], contains `alive`.
  double at_risk = 0;  ///< Weight of what lived at least so long.
};

class SurvivalCurve {
 public:
  /// S *= 1 - freed / at risk at every length of a free, by weights; objects freed at
  /// a length are counted before those censored at it. Samples with a length or weight
  /// that is not finite, a negative length or no positive weight are left out. The band
  /// is normal for log(-log S), with Greenwood's variance for weights.
  SurvivalCurve(std::span<const Lifetime> lifetimes, double level);

  /// In order of lengths. Empty where nothing was freed: then all that is known is that
  /// everything lived as long as it was watched.
  [[nodiscard]] const std::vector<SurvivalStep>& steps() const { return steps_; }

  /// The share alive just after `length`, with its band; 1 before the first step. Past
  /// the longest time watched the curve says nothing more than its last step.
  [[nodiscard]] SurvivalStep at(double length) const;

  /// The shortest length by which a share `p` in (0, 1) of the weight was freed, and
  /// the interval where the band crosses 1 - p. Nothing where the curve, or a limit,
  /// does not get there before the recording ends.
  struct Quantile {
    std::optional<double> value, lo, hi;
  };
  [[nodiscard]] Quantile quantile(double p) const;

 private:
  SurvivalStep start_;
  std::vector<SurvivalStep> steps_;
};

}  // namespace geiger::estimation
