// Compares two sides within strata: hosts of one size, region or role with their like alone.
#pragma once

#include <span>

#include "estimation/dispersion.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

/// A site in one stratum.
struct Stratum {
  RunDifference difference;    ///< After minus before there, per unit of exposure.
  double before_exposure = 0;  ///< Of all runs of the stratum; 0: it is not on this side.
  double after_exposure = 0;
};

/// What a site changed by within strata: their weighted mean, per unit of exposure.
struct StratifiedDifference {
  double value = 0;
  Interval interval;   ///< MOVER of those of the strata; contains `value`.
  double p_value = 1;  ///< Two-sided, of "the same on average in each stratum".
  double matched = 0;  ///< Share of the exposure of both sides that is in strata of both.
};

/// Combines strata, which must not share runs. Each weighs as much as what it can say of a
/// difference: before * after / (before + after) of its exposures. That depends on the design
/// alone. (Weights from the estimated variances would favour strata that happen to have few bytes.)
/// A stratum that only one side has weighs nothing. Without any that both have, nothing is
/// compared: 0, p 1. Any input gives finite numbers.
[[nodiscard]] StratifiedDifference combined(std::span<const Stratum> strata);

/// The weight of a stratum before all are divided by their sum.
[[nodiscard]] double weight_of(const Stratum& stratum);

}  // namespace geiger::estimation
