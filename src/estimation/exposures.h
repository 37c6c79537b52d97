// Runs with different exposures: bytes per unit of exposure, and the runs' deviations from it.
#pragma once

#include <cstddef>
#include <span>

#include "estimation/sums.h"

namespace geiger::estimation {

/// The runs of one side, in bytes per unit of exposure. Variances are those of a run of the mean
/// exposure.
struct Runs {
  double count = 0;
  double mean = 0;  ///< The bytes of all runs over the exposure of all.
  /// The sum of squared deviations of runs from the expectation for their exposures, scaled to the
  /// degrees of freedom times the variance of a run, even if exposures differ.
  double squares = 0;
  double degrees = 0;   ///< Of `squares`: the effective number of runs - 1.
  double sampling = 0;  ///< Mean sampling variance of a run.
  double spread = 1;    ///< Mean squared exposure over the squared mean; 1 if all are equal.

  /// The variance of a run, given the relative deviation of the bytes per unit from run to run.
  [[nodiscard]] double variance(double deviation) const {
    return sampling + deviation * deviation * mean * mean * spread;
  }
};

/// `exposures`: one per run, or empty for 1 each; values that are not positive and finite count as
/// 1.
/// Certain bytes are part of a run's bytes.
[[nodiscard]] Runs runs_of(std::span<const NodeSums> sums, std::span<const double> exposures);

/// The total exposure of `runs` runs, as above; 1 for no run.
[[nodiscard]] double total_exposure(std::span<const double> exposures, std::size_t runs);

}  // namespace geiger::estimation
