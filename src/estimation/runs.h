// Several runs, hosts or hours: their variation, strata of them, and those that were not recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

// Runs with different exposures: bytes per unit of exposure, and the runs' deviations from it.

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

// Compares several runs per side, allowing for the variation from run to run besides the sampling
// error.
//
// Two runs of the same program on the same input do not allocate exactly the same. A test with only
// the sampling error then finds false changes: with 10,000 samples and a run-to-run deviation of 5
// %, in seven of ten comparisons. At least two runs per side are needed to see this variation;
// sites share information that so few runs do not give each alone (a moderated variance).

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

// Compares two sides within strata: only hosts of the same size, region or role with each other.

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

// The bytes of a whole fleet, of which only some hosts or hours were recorded.

/// An estimate for the whole exposure from a part of it.
struct FleetTotal {
  /// Of the whole. `exact`: the certain bytes of the recorded part, without error.
  Estimate bytes;
  double recorded = 1;     ///< Share of the exposure that was recorded, in (0, 1].
  double degrees = 0;      ///< Of freedom of the variance; infinite if all was recorded.
  bool is_of_few = false;  ///< Fewer than kFewHosts: if hosts vary much, intervals miss too often.
};

/// From this many hosts on a 95 % interval covers at least .9 even if hosts vary by 100 %
/// (docs/internals/estimators.md).
inline constexpr std::size_t kFewHosts = 30;

/// Estimates the bytes of a total `exposure`, of which `hosts` are a part selected independently of
/// their bytes, at a confidence level. `exposures`: one per host or empty for 1 each, in the same
/// unit, such as hours; hosts with more exposure count more. If their sum exceeds `exposure`,
/// everything was recorded. The unrecorded part is assumed to be like the recorded one. No result
/// for fewer than two hosts, unless they are all: a single host does not show how hosts vary.
[[nodiscard]] std::optional<FleetTotal> fleet_total(std::span<const NodeSums> hosts,
                                                    std::span<const double> exposures,
                                                    double exposure, double level);

}  // namespace geiger::estimation
