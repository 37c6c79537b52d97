// Figures of one thing that is measured several times, such as the processor time of a program.
// Source: Student's t; docs/estimators.md, section "Repeated runs".
#pragma once

#include <span>

#include "estimation/estimate.h"

namespace geiger::estimation {

/// The mean of independent figures, with Student's interval. Of one figure the interval is not
/// known: from 0 to infinity. `figures`: not empty, none negative; `samples` is their number.
[[nodiscard]] Estimate mean_of(std::span<const double> figures, double level);

/// How much larger the second figure of each pair is than the first: the geometric mean of
/// after / before, with Student's interval of the logarithms. What disturbs both figures of a pair
/// alike, such as a busy machine, cancels. `before`, `after`: of one length, not empty, all
/// above 0. Of one pair the interval is not known: from 0 to infinity.
[[nodiscard]] Estimate ratio_of_pairs(std::span<const double> before, std::span<const double> after,
                                      double level);

}  // namespace geiger::estimation
