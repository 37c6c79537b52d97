// How many trials failed before the s-th success: the exact law, its quantiles, and the intervals
// that the .NET design takes from it. Camp and Paulson's approximation is here too, for comparison.
//
// A trial is missed with probability q = e^(-rate). For bytes the rate is lambda
// (rate_of_interval), for whole objects of z bytes it is lambda z: q and p keep
// all their digits, however near to 1 either may be.
#pragma once

#include <cstdint>

#include "estimation/checked.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

/// The law of the failed trials before success number s. Made by make() only, so
/// that every object of this class is sound; its functions never return NaN.
class NegativeBinomial {
 public:
  /// `successes` s in [1, 2^53], `rate` >= 2^-63 (infinite: no trial ever fails).
  [[nodiscard]] static Checked<NegativeBinomial> make(std::uint64_t successes, double rate);

  /// Of bytes, drawn with an `interval` T in [1, 2^63].
  [[nodiscard]] static Checked<NegativeBinomial> of_interval(std::uint64_t successes,
                                                             double interval);

  /// P(F <= failures) = I_p(s, failures + 1), for any real `failures`; 0 below 0.
  [[nodiscard]] double at_most(double failures) const;

  /// The largest whole number of failures f with P(F <= f) <= target: the floor of the real root,
  /// and the convention of the .NET design's table. -1 if there is none. `target` in (0, 1).
  [[nodiscard]] Checked<double> failures_at(double target) const;
  /// failures_at(1 - tail), also where 1 - tail is 1 to a double.
  [[nodiscard]] Checked<double> failures_at_upper(double tail) const;

  /// P(F <= failures) as Camp and Paulson approximate it (Bartko 1966): off by up
  /// to .0122 at s = 1, .0013 at s = 5. For comparison; do not build on it.
  [[nodiscard]] double camp_paulson_at_most(double failures) const;
  /// The real root of the approximation: at s = 1 half of the true lower 2.5 % limit.
  [[nodiscard]] Checked<double> camp_paulson_root(double target) const;
  /// The largest difference of camp_paulson_at_most() from at_most(), at 201 numbers of failures up
  /// to eight standard deviations above the mean.
  [[nodiscard]] double camp_paulson_error() const;

 private:
  NegativeBinomial(double successes, double rate);
  [[nodiscard]] long double below(long double failures) const;
  [[nodiscard]] long double above(long double failures) const;
  [[nodiscard]] long double root_between(double below, double above) const;
  [[nodiscard]] double floor_between(double below, double above) const;

  long double successes_;
  long double hit_;   ///< p
  long double miss_;  ///< q
};

/// When observation ended.
enum class Window : std::uint8_t {
  kUpToSample,  ///< At a sample, by a rule about samples: both limits with s.
  kFixed,       ///< At a time that chance did not choose: s below, s + 1 above.
};

/// Limits of the bytes (kFixed: with exact coverage where objects are small) from
/// `samples` s and `untried` = sum(size - offset), that is the drawn bytes and
/// their tails: quantiles of the failed trials plus `untried`. The upper limit of
/// kFixed is one byte above the table's convention, which may fall short of the
/// level where T is small. s = 0 gives [0, T ln(2/alpha)] for kFixed and an error
/// for kUpToSample, which knows no answer. `interval` T in [1, 2^63]; at T = 1 no byte
/// fails and both ends are `untried`.
[[nodiscard]] Checked<Interval> failed_trials_interval(std::uint64_t samples, double untried,
                                                       double interval, double level,
                                                       Window window);

/// The bytes that `samples` s stand for by their failed trials: s (T - 1) + `untried`, unbiased,
/// with the variance s T (T - 1) estimated without bias and the limits of kFixed. Ranges and errors
/// are those of failed_trials_interval.
[[nodiscard]] Checked<Estimate> estimate_failed_trials(std::uint64_t samples, double untried,
                                                       double interval, double level);

}  // namespace geiger::estimation
