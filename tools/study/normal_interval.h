// The normal interval: for sums of many samples, and for comparison with the other intervals.
#pragma once

#include "estimation/checked.h"
#include "estimation/estimate.h"

namespace geiger::study {

/// z with P(|Z| > z) = 1 - level. kLevel for a level outside (0, 1).
[[nodiscard]] estimation::Checked<double> normal_quantile(double level);

/// value +- z sqrt(variance), not below `least`. It ignores skewness: with few samples it covers
/// far less than its level. kSize where value or variance is negative or not finite.
[[nodiscard]] estimation::Checked<estimation::Interval> normal_interval(double value,
                                                                        double variance,
                                                                        double level,
                                                                        double least = 0);

}  // namespace geiger::study
