// Tests whether a quantity grows or only varies: compares a trend with its scatter.
#pragma once

#include <span>

#include "estimation/estimate.h"

namespace geiger::estimation {

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
