// Compares several runs per side, allowing for the variation from run to run besides the sampling
// error.
//
// The same program on the same input does not allocate the same twice. A test that
// knows the sampling error only then finds changes where there are none: with 10,000
// samples and a run-to-run deviation of 5 % in seven comparisons of ten. Two runs a
// side are the least that shows this variation; sites lend each other what each alone
// could not know from so few runs (a moderated variance).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// One node: its sums run by run. A run that has nothing of the node takes part with
/// sums that say what could have been sampled in it.
struct SiteRuns {
  std::vector<NodeSums> before, after;
  /// What each run was exposed to, in any unit: hours, or the bytes it allocated in all. Sides are
  /// compared per unit of it, a long run counting for more. Empty: 1 for each, hence per run. What
  /// is not positive and finite is read as 1. Requires as many as there are runs, or none.
  std::vector<double> before_exposures = {}, after_exposures = {};
};

/// After minus before, in bytes per unit of exposure.
struct RunDifference {
  double value = 0;
  Interval interval;      ///< Contains `value`.
  double p_value = 1;     ///< Two-sided, of "the same on average over all runs".
  double detectable = 0;  ///< Growth found at 1 - level with 80 % probability.
  double dispersion = 1;  ///< Variance over that of the sampling alone; >= 1.
  double degrees = 0;     ///< Degrees of freedom of that variance.
  double sampling_p = 1;  ///< p_value if runs differed by nothing but the sampling.
  /// Where that is significant and p_value is not: about how many runs per side would find a
  /// difference as large, if they go on differing as much; else, and beyond a thousand, 0.
  std::uint64_t runs_to_find = 0;
};

struct RunComparison {
  std::vector<RunDifference> sites;  ///< In the order given.
  /// Typical relative standard deviation of a site's bytes from run to run, the
  /// sampling taken out. 0 where the sampling covers it.
  double run_deviation = 0;
  /// Whether any site had two runs on a side. If not, values, intervals and p-values
  /// are those of difference.h: sampling error only.
  bool sees_runs = false;
};

/// Compares every site with moderated variances. Certain bytes are data like the
/// others here: they vary from run to run too. No p-value is smaller, no interval
/// narrower than the sampling error allows. Sites need not have the same numbers of
/// runs; a side without any run counts as one that could have sampled nothing. Any
/// input gives finite numbers.
[[nodiscard]] RunComparison compare_runs(std::span<const SiteRuns> sites, double level);

}  // namespace geiger::estimation
