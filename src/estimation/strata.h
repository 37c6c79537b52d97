// Compares two sides within strata: only hosts of the same size, region or role with each other.
#pragma once

#include <span>

#include "estimation/dispersion.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

/// A site in one stratum.
struct Stratum {
  RunDifference difference;    ///< After minus before there, per unit of exposure.
  double before_exposure = 0;  ///< Of all runs of the stratum; 0: not on this side.
  double after_exposure = 0;
};

/// The change of a site within strata: their weighted mean, per unit of exposure.
struct StratifiedDifference {
  double value = 0;
  Interval interval;   ///< MOVER of the strata's intervals; contains `value`.
  double p_value = 1;  ///< Two-sided, of the same average in each stratum.
  double matched = 0;  ///< Share of both sides' exposure in strata that both have.
};

/// Combines strata, which must not share runs. Each is weighted by its information about a
/// difference: before * after / (before + after) of its exposures. That depends only on the design.
/// (Weights from the estimated variances would favour strata that happen to have few bytes.) A
/// stratum of only one side has weight 0. Without common strata, nothing is compared: 0, p 1. Any
/// input gives finite numbers.
[[nodiscard]] StratifiedDifference combined(std::span<const Stratum> strata);

/// The weight of a stratum, before normalisation.
[[nodiscard]] double weight_of(const Stratum& stratum);

}  // namespace geiger::estimation
