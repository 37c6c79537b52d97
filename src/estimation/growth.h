// Tests whether something grows or only varies: a trend against its own scatter.
#pragma once

#include <span>

#include "estimation/estimate.h"

namespace geiger::estimation {

/// A stretch of time and what changed in it.
struct Change {
  double length = 0;  ///< > 0, any unit of time.
  double value = 0;   ///< Net change in it, any sign.
};

/// What the scatter of the changes shows about their sum.
struct Trend {
  double value = 0;    ///< Net change over all of it.
  Interval interval;   ///< Contains `value`; everything where there are fewer than two.
  double p_value = 1;  ///< One-sided, of "does not grow". In [0, 1].
};

/// Tests the mean change per time against the scatter of the changes around it: Student's
/// t on as many degrees of freedom as there are changes, less one. Exact where the changes
/// are independent and normal with variances in proportion to their lengths, as those of a
/// random walk are; on the safe side where what goes up in one stretch tends to come down
/// in another, as in every heap that stays within bounds (docs/estimators.md).
///
/// Changes without a positive length, or that are not finite, are left out. p is 1 where
/// nothing grew or fewer than two changes are left.
[[nodiscard]] Trend trend_of(std::span<const Change> changes, double level);

/// The p-value of a growth that does not rest on one stretch: the larger of trend_of's with and
/// without the largest change. A few bursts are not a trend, but so few large values are far from
/// normal, and Student's t alone takes three bursts in twelve stretches for a trend in one case of
/// six.
[[nodiscard]] double steady_growth_p(std::span<const Change> changes);

}  // namespace geiger::estimation
