// Other intervals than FF-SG, for comparison, and the exact one for objects of one size.
#pragma once

#include <cstdint>

#include "estimation/checked.h"
#include "estimation/estimate.h"

namespace geiger::research {

/// z with P(|Z| > z) = 1 - level. kLevel for a level outside (0, 1).
[[nodiscard]] estimation::Checked<double> normal_quantile(double level);

/// value +- z sqrt(variance), not below `least`. It ignores skewness: with few samples it covers
/// far less than its level. kSize where value or variance is negative or not finite.
[[nodiscard]] estimation::Checked<estimation::Interval> normal_interval(double value,
                                                                        double variance,
                                                                        double level,
                                                                        double least = 0);

/// failed_trials_interval() for kFixed by Camp and Paulson's approximation; an error without a
/// sample.
[[nodiscard]] estimation::Checked<estimation::Interval> camp_paulson_interval(std::uint64_t samples,
                                                                              double untried,
                                                                              double interval,
                                                                              double level);

/// Limits of the number of objects of `size` bytes of which `samples` were sampled
/// at rate lambda: Clopper and Pearson's for the index of a binomial, exact for
/// every number of objects. `size` >= 1, `lambda` > 0.
[[nodiscard]] estimation::Checked<estimation::Interval> same_size_objects_interval(
    std::uint64_t samples, Bytes size, double lambda, double level);

}  // namespace geiger::research
