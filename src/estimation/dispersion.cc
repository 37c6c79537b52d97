// Derivation and evidence: docs/internals/estimators.md, section 15.
#include "estimation/dispersion.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "estimation/difference.h"
#include "estimation/exposures.h"

namespace geiger::estimation {
namespace {

// Doubles suffice, at a third of the cost of Boost's default.
using Doubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using ChiSquared = boost::math::chi_squared_distribution<double, Doubles>;
using FisherF = boost::math::fisher_f_distribution<double, Doubles>;
using StudentsT = boost::math::students_t_distribution<double, Doubles>;

// Degrees of freedom that a site borrows from the others.
constexpr double kPriorDegrees = 4;
// Fewer sites than this do not share a variance.
constexpr std::size_t kEnoughSites = 5;
// With at least this many samples per run (relative variance 1/30) a site can show a run-to-run
// variation that is not small compared with its sampling error.
constexpr double kTellingVariance = 1.0 / 30;
// A site whose variance is an outlier among the others at this probability uses only its own.
constexpr double kOutlier = 0.01;
constexpr double kDetectionPower = 0.8;

struct Sides {
  Runs before, after;

  [[nodiscard]] double degrees() const { return before.degrees + after.degrees; }
  // Pearson's chi-square of the runs around their own side's mean.
  [[nodiscard]] double chi_square(double deviation) const {
    double sum = 0;
    for (const Runs& side : {before, after}) {
      if (side.squares > 0) sum += side.squares / side.variance(deviation);
    }
    return sum;
  }
  [[nodiscard]] bool is_telling() const {
    const auto tells = [](const Runs& side) {
      return side.degrees > 0 && side.mean > 0 &&
             side.sampling <= kTellingVariance * side.mean * side.mean;
    };
    return tells(before) || tells(after);
  }
};

// The relative deviation from run to run for which the chi-square is at its median; 0 if sampling
// explains the data.
double own_deviation(const Sides& site) {
  const double median = boost::math::median(ChiSquared(site.degrees()));
  if (site.chi_square(0) <= median) return 0;
  double low = 0, high = 1;
  while (site.chi_square(high) > median && high < 1e6) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = low + (high - low) / 2;
    (site.chi_square(middle) > median ? low : high) = middle;
  }
  return high;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The information that sites share.
struct Prior {
  double deviation = 0;
  bool helps_telling = false;  ///< Enough informative sites to share a variance.
  bool helps_others = false;   ///< Enough sites dominated by sampling.

  [[nodiscard]] double degrees_for(const Sides& site) const {
    return (site.is_telling() ? helps_telling : helps_others) ? kPriorDegrees : 0;
  }
};

Prior prior_of(std::span<const Sides> sites) {
  std::vector<double> deviations;
  std::size_t repeated = 0;
  for (const Sides& site : sites) {
    if (site.degrees() == 0) continue;
    ++repeated;
    if (site.is_telling()) deviations.push_back(own_deviation(site));
  }
  Prior prior;
  prior.helps_others = repeated >= kEnoughSites;
  prior.helps_telling = deviations.size() >= kEnoughSites;
  if (prior.helps_telling) prior.deviation = median_of(std::move(deviations));
  return prior;
}

// The variance of the difference of the means, and its degrees of freedom.
struct Variance {
  double value = 0;
  double degrees = 0;
};

// `factor` times the prior's variance, but never below that of sampling.
double scaled_variance(const Runs& side, double deviation, double factor) {
  return side.count > 0 ? std::max(side.sampling, factor * side.variance(deviation)) / side.count
                        : 0;
}

Variance moderated(const Sides& site, const Prior& prior) {
  const double degrees = site.degrees();
  const double lent = prior.degrees_for(site);
  const double chi_square = site.chi_square(prior.deviation);
  if (lent > 0) {
    const FisherF usual(degrees, lent);
    if (chi_square / degrees <= boost::math::quantile(complement(usual, kOutlier))) {
      const double factor = (lent + chi_square) / (lent + degrees);
      return {scaled_variance(site.before, prior.deviation, factor) +
                  scaled_variance(site.after, prior.deviation, factor),
              lent + degrees};
    }
  }
  // On its own: one variance for both sides, from its own runs.
  const double own = (site.before.squares + site.after.squares) / degrees;
  const auto of_mean = [own](const Runs& side) {
    return side.count > 0 ? std::max(own, side.sampling) / side.count : 0;
  };
  return {of_mean(site.before) + of_mean(site.after), degrees};
}

Side added(std::span<const NodeSums> runs, std::span<const double> exposures) {
  Side side{.sums = {}, .exposure = total_exposure(exposures, runs.size())};
  for (const NodeSums& run : runs) side.sums.merge(run);
  return side;
}

RunDifference sampling_only(const Difference& sampling) {
  return {.value = sampling.value,
          .interval = sampling.interval,
          .p_value = sampling.p_value,
          .detectable = sampling.detectable,
          .sampling_p = sampling.p_value};
}

// The least number of runs per side at which `value` is detected with probability kDetectionPower,
// given a variance of `one_run` for each side. `lent`: degrees of freedom borrowed from others.
std::uint64_t runs_to_find(double value, double one_run, double lent, double alpha) {
  constexpr std::uint64_t kMost = 1000;
  for (std::uint64_t runs = 2; runs <= kMost; runs += 1 + runs / 8) {
    const auto count = static_cast<double>(runs);
    const StudentsT law(2 * count - 2 + lent);
    const double reach = boost::math::quantile(complement(law, alpha / 2));
    const double found = reach + boost::math::quantile(law, kDetectionPower);
    if (found * std::sqrt(2 * one_run / count) <= std::abs(value)) return runs;
  }
  return 0;
}

// Widens the sampling-only result by the variation between runs.
RunDifference with_runs(const Difference& sampling, const Sides& site, const Prior& prior,
                        double alpha) {
  RunDifference result = sampling_only(sampling);
  const Variance variance = moderated(site, prior);
  const double error = std::sqrt(variance.value);
  const StudentsT law(variance.degrees);
  const double reach = boost::math::quantile(complement(law, alpha / 2));
  result.degrees = variance.degrees;
  result.interval = {std::min(sampling.interval.lo, sampling.reach.lo - reach * error),
                     std::max(sampling.interval.hi, sampling.reach.hi + reach * error)};
  const double found = reach + boost::math::quantile(law, kDetectionPower);
  result.detectable = std::max(sampling.detectable, found * error);
  if (error > 0) {
    // The least change that open samples allow.
    const double value = std::max({0.0, sampling.reach.lo, -sampling.reach.hi});
    const double p = 2 * boost::math::cdf(complement(law, value / error));
    result.p_value = std::max(sampling.p_value, p);
  }
  if (sampling.p_value <= alpha && result.p_value > alpha) {
    // As if both sides had this many runs, so that their means have the same variance.
    const double inverse = (site.before.count > 0 ? 1 / site.before.count : 0) +
                           (site.after.count > 0 ? 1 / site.after.count : 0);
    result.runs_to_find = runs_to_find(sampling.value, variance.value / inverse,
                                       variance.degrees - site.degrees(), alpha);
  }
  const double least = site.before.sampling / std::max(site.before.count, 1.0) +
                       site.after.sampling / std::max(site.after.count, 1.0);
  if (least > 0) result.dispersion = std::clamp(variance.value / least, 1.0, kLargestSum);
  return result;
}

}  // namespace

RunComparison compare_runs(std::span<const SiteRuns> sites, double level) {
  std::vector<Sides> sides;
  sides.reserve(sites.size());
  for (const SiteRuns& site : sites) {
    sides.push_back(
        {runs_of(site.before, site.before_exposures), runs_of(site.after, site.after_exposures)});
  }
  const Prior prior = prior_of(sides);
  RunComparison comparison{.sites = {}, .run_deviation = prior.deviation, .sees_runs = false};
  for (std::size_t i = 0; i < sites.size(); ++i) {
    Side before = added(sites[i].before, sites[i].before_exposures);
    Side after = added(sites[i].after, sites[i].after_exposures);
    // Certain bytes are tested too: the hypothesis is about all bytes.
    before.uneven_bytes = before.sums.certain_bytes;
    after.uneven_bytes = after.sums.certain_bytes;
    const Difference sampling = difference(before, after, level);
    const bool sees_runs = sides[i].degrees() > 0;
    comparison.sees_runs |= sees_runs;
    comparison.sites.push_back(sees_runs ? with_runs(sampling, sides[i], prior, alpha_of(level))
                                         : sampling_only(sampling));
  }
  return comparison;
}

}  // namespace geiger::estimation
