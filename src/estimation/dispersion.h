// Compares several runs per side, allowing for the variation from run to run besides the sampling
// error.
//
// Two runs of the same program on the same input do not allocate exactly the same. A test with only
// the sampling error then finds false changes: with 10,000 samples and a run-to-run deviation of 5
// %, in seven of ten comparisons. At least two runs per side are needed to see this variation;
// sites share information that so few runs do not give each alone (a moderated variance).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// One node: its sums for each run. A run without samples of the node takes part with sums that
/// contain only what could have been sampled.
struct SiteRuns {
  std::vector<NodeSums> before, after;
  /// Exposure of each run, in any unit: hours, or the bytes it allocated in total. Sides are
  /// compared per unit of exposure, so long runs count more. Empty: 1 for each, hence per run.
  /// Values that are not positive and finite count as 1. Requires one for each run, or none.
  std::vector<double> before_exposures = {}, after_exposures = {};
};

/// After minus before, in bytes per unit of exposure.
struct RunDifference {
  double value = 0;
  Interval interval;      ///< Contains `value`.
  double p_value = 1;     ///< Two-sided, of the same average over all runs.
  double detectable = 0;  ///< Growth found at 1 - level with 80 % probability.
  double dispersion = 1;  ///< Variance over that of the sampling alone; >= 1.
  double degrees = 0;     ///< Degrees of freedom of that variance.
  double sampling_p = 1;  ///< p_value if runs differed only by sampling.
  /// If that is significant but p_value is not: roughly the number of runs per side that would
  /// detect a difference this large, if runs keep varying as much; else, and above a thousand, 0.
  std::uint64_t runs_to_find = 0;
};

struct RunComparison {
  std::vector<RunDifference> sites;  ///< In the order given.
  /// Typical relative standard deviation of a site's bytes from run to run, without that of
  /// sampling. 0 if sampling explains it.
  double run_deviation = 0;
  /// Whether any site had two runs on a side. If not, values, intervals and p-values
  /// are those of difference.h: sampling error only.
  bool sees_runs = false;
};

/// Compares every site with moderated variances. Certain bytes are treated like the others here:
/// they vary from run to run too. No p-value is smaller, and no interval narrower, than the
/// sampling error allows. Sites need not have the same numbers of runs; a side without runs counts
/// as one that could not have sampled anything. Any input gives finite numbers.
[[nodiscard]] RunComparison compare_runs(std::span<const SiteRuns> sites, double level);

}  // namespace geiger::estimation
