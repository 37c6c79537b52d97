// Lifetimes of objects, from samples of which some were still alive at the end: the weighted
// Kaplan-Meier curve.
//
// Whether an allocation is sampled does not depend on its lifetime, so weighted curves are
// unbiased. Two simpler figures are biased: the mean over freed objects (over-represents short
// lives) and the age of live objects (over-represents long lives).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "estimation/estimate.h"

namespace geiger::estimation {

/// One sample. Weigh with z/pi for a curve over bytes, with 1/pi for one over objects.
struct Lifetime {
  double length = 0;      ///< Any unit, >= 0: until its free, or the time watched.
  bool is_freed = false;  ///< False: still alive then (censored).
  double weight = 1;      ///< > 0.
  double missed = 1;      ///< 1 - pi, in [0, 1]: 0 of a certain object, which adds no error.
};

/// The share alive just after `length`, at the lengths where objects were freed.
struct SurvivalStep {
  double length = 0;
  double alive = 1;
  Interval band;       ///< Pointwise; within [0, 1], contains `alive`.
  double at_risk = 0;  ///< Weight of objects that lived at least this long.
};

/// Options of a curve's intervals.
struct SurvivalDesign {
  double level = 0.95;
  /// Weight of the next object that might have been sampled but was not: E for bytes,
  /// heaviest_unseen_object() for objects, 0 if nothing can be missed. Absent: an object as heavy
  /// as those seen.
  std::optional<double> next = std::nullopt;
};

class SurvivalCurve {
 public:
  /// S *= 1 - freed / at risk at every length of a free, by weights; objects freed at
  /// a length are counted before those censored at it. Ignores samples with a length or weight that
  /// is not finite, a negative length or a weight that is not positive; clamps `missed` to [0, 1].
  ///
  /// The band covers the curve that a recording of every allocation would give. It is a
  /// gamma interval for -log S with the variance of sampling, linearised
  /// (docs/internals/estimators.md, section 12).
  SurvivalCurve(std::span<const Lifetime> lifetimes, const SurvivalDesign& design);
  SurvivalCurve(std::span<const Lifetime> lifetimes, double level)
      : SurvivalCurve(lifetimes, SurvivalDesign{.level = level}) {}

  /// Number of lengths at which objects were freed; steps are in order of lengths. 0 if nothing was
  /// freed: then every object lived as long as it was watched.
  [[nodiscard]] std::size_t size() const { return frees_.size(); }
  /// Requires i < size().
  [[nodiscard]] SurvivalStep step(std::size_t i) const;

  /// The share alive just after `length`, with its band; 1 before the first step. After the longest
  /// time watched it stays at its last value.
  [[nodiscard]] SurvivalStep at(double length) const;

  /// The longest length watched, of freed or live objects; 0 without samples.
  [[nodiscard]] double longest() const { return longest_; }

  /// The shortest length by which a share `p` in (0, 1) of the weight was freed, and
  /// the interval where the band crosses 1 - p. Absent if the curve, or its upper limit, does not
  /// reach it before the recording ends; the lower limit is at most the longest length watched,
  /// after which nothing is known.
  struct Quantile {
    std::optional<double> value, lo, hi;
  };
  [[nodiscard]] Quantile quantile(double p) const;

 private:
  /// A length at which objects were freed or censored. Without its band, which costs two quantiles
  /// of a gamma law.
  struct Point {
    double length = 0;
    double alive = 1;
    double at_risk = 0;
    double later = 0;     ///< Weight of objects that lived, or were watched, longer.
    double variance = 0;  ///< Of -log alive.
  };

  [[nodiscard]] SurvivalStep with_band(const Point& point) const;
  [[nodiscard]] Interval band_of(const Point& point) const;
  [[nodiscard]] double with_unseen(double hi, double alive) const;
  [[nodiscard]] bool is_exact() const { return !points_.empty() && next_ + squares_ == 0; }

  double alpha_ = 0;
  double next_ = 0;
  double squares_ = 0;  ///< Sum over the weights of samples that were not certain.
  /// x: at most this much weight of unseen objects that are heavier than any seen, and may all
  /// live.
  double unseen_ = 0;
  double longest_ = 0;
  double unit_ = 1;  ///< Weights are kept in units of the largest.
  Point start_;
  std::vector<Point> points_;       ///< In order of lengths.
  std::vector<std::size_t> frees_;  ///< Indexes of points with frees.
};

}  // namespace geiger::estimation
