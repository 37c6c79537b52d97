// What scatter alone decides: means of repeated measurements, trends.
#pragma once

#include <span>

#include "estimation/estimate.h"

namespace geiger::estimation {

// Repeated measurements of one quantity, such as the processor time of a program.
// Source: Student's t (docs/guide/allocators.md).

/// The mean of independent figures, with Student's interval. For a single figure the interval is
/// unknown: from 0 to infinity. `figures`: not empty, none negative; `samples` is their number.
[[nodiscard]] Estimate mean_of(std::span<const double> figures, double level);

/// The ratio of the second figure of each pair to the first: the geometric mean of after / before,
/// with Student's interval of the logarithms. Disturbances common to both figures of a pair, such
/// as a busy machine, cancel. `before`, `after`: of equal length, not empty, all above 0. For a
/// single pair the interval is unknown: from 0 to infinity.
[[nodiscard]] Estimate ratio_of_pairs(std::span<const double> before, std::span<const double> after,
                                      double level);

// Tests whether a quantity grows or only varies: compares a trend with its scatter.

/// A period of time and the change in it.
struct Change {
  double length = 0;  ///< > 0, any unit of time.
  double value = 0;   ///< Net change in it, any sign.
};

/// The sum of changes, with the uncertainty from their scatter.
struct Trend {
  double value = 0;    ///< Net change over all of it.
  Interval interval;   ///< Contains `value`; unbounded for fewer than two changes.
  double p_value = 1;  ///< One-sided, of the hypothesis of no growth. In [0, 1].
};

/// Tests the mean change per time against the scatter of the changes around it: Student's t with
/// (number of changes - 1) degrees of freedom. Exact if the changes are independent and normal with
/// variances proportional to their lengths, like those of a random walk; conservative if increases
/// tend to be followed by decreases, as in every bounded heap (docs/internals/estimators.md).
///
/// Ignores changes without a positive length, or that are not finite. p is 1 if nothing grew or
/// fewer than two changes remain.
[[nodiscard]] Trend trend_of(std::span<const Change> changes, double level);

/// The p-value of a growth that does not depend on a single period: the larger of trend_of's with
/// and without the largest change. A few bursts are not a trend, but so few large values are far
/// from normal, and Student's t alone takes three bursts in twelve periods for a trend in one of
/// six cases.
[[nodiscard]] double steady_growth_p(std::span<const Change> changes);

}  // namespace geiger::estimation
