// How long objects live, from samples of which some were still alive at the end: the
// weighted Kaplan-Meier curve.
//
// Whether an allocation is a sample does not depend on how long it will live, so weighted curves
// are unbiased. Two simpler figures are biased: the mean over the objects that were freed (short
// lives are over-represented) and the age of those that are alive (long lives are).
#pragma once

#include <cstddef>
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
  double missed = 1;      ///< 1 - pi, in [0, 1]: 0 of a certain object, which adds no error.
};

/// The share alive just after `length`, at the lengths where objects were freed.
struct SurvivalStep {
  double length = 0;
  double alive = 1;
  Interval band;       ///< Pointwise; within [0, 1], contains `alive`.
  double at_risk = 0;  ///< Weight of what lived at least so long.
};

/// Options of a curve's intervals.
struct SurvivalDesign {
  double level = 0.95;
  /// Weight of the next object that might have been sampled and was not: E for bytes,
  /// the largest 1/pi for objects, 0 where nothing can be missed. Nothing: an object as
  /// heavy as those seen.
  std::optional<double> next = std::nullopt;
};

class SurvivalCurve {
 public:
  /// S *= 1 - freed / at risk at every length of a free, by weights; objects freed at
  /// a length are counted before those censored at it. Samples with a length or weight
  /// that is not finite, a negative length or no positive weight are left out; `missed`
  /// is read as the nearest value in [0, 1].
  ///
  /// The band covers the curve that a recording of every allocation would give. It is a
  /// gamma interval for -log S with the variance of sampling, linearised
  /// (docs/estimators.md, section 12).
  SurvivalCurve(std::span<const Lifetime> lifetimes, const SurvivalDesign& design);
  SurvivalCurve(std::span<const Lifetime> lifetimes, double level)
      : SurvivalCurve(lifetimes, SurvivalDesign{.level = level}) {}

  /// Lengths at which something was freed, counted from 0 in order of lengths. 0 if nothing was
  /// freed: then it is only known that everything lived as long as it was watched.
  [[nodiscard]] std::size_t size() const { return frees_.size(); }
  /// Requires i < size().
  [[nodiscard]] SurvivalStep step(std::size_t i) const;

  /// The share alive just after `length`, with its band; 1 before the first step. Past the longest
  /// time watched it stays at its last step.
  [[nodiscard]] SurvivalStep at(double length) const;

  /// The longest length watched, of what was freed or not; 0 without samples.
  [[nodiscard]] double longest() const { return longest_; }

  /// The shortest length by which a share `p` in (0, 1) of the weight was freed, and
  /// the interval where the band crosses 1 - p. Nothing where the curve, or its upper
  /// limit, does not get there before the recording ends; the lower limit is at most the
  /// longest length watched, behind which nothing is known.
  struct Quantile {
    std::optional<double> value, lo, hi;
  };
  [[nodiscard]] Quantile quantile(double p) const;

 private:
  /// A length at which something was freed or censored, before its band is computed: that costs two
  /// quantiles of a gamma law.
  struct Point {
    double length = 0;
    double alive = 1;
    double at_risk = 0;
    double later = 0;     ///< Weight of what lived, or was watched, longer.
    double variance = 0;  ///< Of -log alive.
  };

  [[nodiscard]] SurvivalStep with_band(const Point& point) const;
  [[nodiscard]] Interval band_of(const Point& point) const;
  [[nodiscard]] bool is_exact() const { return !points_.empty() && next_ + squares_ == 0; }

  double alpha_ = 0;
  double next_ = 0;
  double squares_ = 0;  ///< Of the weights that chance chose.
  double longest_ = 0;
  double unit_ = 1;  ///< Weights are kept in units of the largest.
  Point start_;
  std::vector<Point> points_;       ///< In order of lengths.
  std::vector<std::size_t> frees_;  ///< Those where something was freed.
};

}  // namespace geiger::estimation
