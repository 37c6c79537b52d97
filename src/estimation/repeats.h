// Repeated measurements of one quantity, such as the processor time of a program.
// Source: Student's t (docs/guide/allocators.md).
#pragma once

#include <span>

#include "estimation/estimate.h"

namespace geiger::estimation {

/// The mean of independent figures, with Student's interval. For a single figure the interval is
/// unknown: from 0 to infinity. `figures`: not empty, none negative; `samples` is their number.
[[nodiscard]] Estimate mean_of(std::span<const double> figures, double level);

/// The ratio of the second figure of each pair to the first: the geometric mean of after / before,
/// with Student's interval of the logarithms. Disturbances common to both figures of a pair, such
/// as a busy machine, cancel. `before`, `after`: of equal length, not empty, all above 0. For a
/// single pair the interval is unknown: from 0 to infinity.
[[nodiscard]] Estimate ratio_of_pairs(std::span<const double> before, std::span<const double> after,
                                      double level);

}  // namespace geiger::estimation
