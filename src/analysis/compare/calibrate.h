// Calibrates rows of a comparison to the exact totals of two runs.
#pragma once

#include "analysis/compare/comparison.h"

namespace geiger::compare {

/// Whether both sides are one run whose exact total is known, so that samples need only say how it
/// divides. Several runs also differ from one another, which their totals do not show; two
/// recordings of one process differ only by what moved; and the branches of a tree must add up.
[[nodiscard]] bool can_calibrate(const Collected& collected);

/// Gives a row with samples enough on both sides the values that `table` shows for each run
/// (estimation/calibration.h), and the interval of their difference. The p-value of a site of most
/// samples is that of the rest, which then has changed by less than the total
/// (docs/internals/estimators.md, section 16). Requires can_calibrate.
void calibrate(Row& row, const Site& site, const Collected& collected, double level);

}  // namespace geiger::compare
