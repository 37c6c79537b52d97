#include "estimation/runs.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "estimation/difference.h"
#include "estimation/distributions/gamma.h"
#include "estimation/distributions/quiet.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

// Derivation and evidence: docs/internals/estimators.md, "Runs of different lengths".

namespace {

double exposure_of(std::span<const double> exposures, std::size_t run) {
  if (exposures.empty()) return 1;
  return exposures[run] > 0 && std::isfinite(exposures[run]) ? exposures[run] : 1;
}

/// A run's bytes, and its share of the exposure of all.
struct Share {
  double bytes, exposure;
};

/// Long runs pull the mean towards themselves: residuals underestimate the deviations from the
/// truth by more than with equal runs, and the effective number of runs is smaller.
void allow_for_differences(Runs& runs, std::span<const Share> shares) {
  double squares = 0, second = 0, third = 0;
  for (const Share& run : shares) {
    const double residual = run.bytes - runs.mean * runs.count * run.exposure;
    squares += residual * residual;
    second += run.exposure * run.exposure;
    third += run.exposure * run.exposure * run.exposure;
  }
  // The share of the variance in the residuals, if it grows with the squared exposure. Nearly 0 if
  // one run has all of the exposure; the bound excludes rounding errors.
  constexpr double kLeast = 1e-9;
  const double left = std::max(1 - 2 * third / second + second, kLeast);
  runs.spread = runs.count * second;
  runs.degrees = std::max(1 / second - 1, 1.0);
  runs.squares = squares / runs.count / left * runs.degrees;
}

}  // namespace

double total_exposure(std::span<const double> exposures, std::size_t runs) {
  GEIGER_ASSERT(exposures.empty() || exposures.size() == runs);
  double sum = 0;
  for (std::size_t i = 0; i < runs; ++i) sum += exposure_of(exposures, i);
  return runs > 0 ? sum : 1;
}

Runs runs_of(std::span<const NodeSums> sums, std::span<const double> exposures) {
  const double exposure = total_exposure(exposures, sums.size());
  Runs runs;
  std::vector<Share> shares;
  bool is_even = true;
  // Welford's recurrence: exact if all runs agree.
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Estimate bytes = estimate_bytes(sums[i], 0.5);
    runs.count += 1;
    const double step = bytes.value - runs.mean;
    runs.mean += step / runs.count;
    runs.squares += step * (bytes.value - runs.mean);
    runs.sampling += (bytes.variance - runs.sampling) / runs.count;
    const double own = exposure_of(exposures, i);
    shares.push_back({bytes.value, own / exposure});
    is_even = is_even && own == exposure_of(exposures, 0);
  }
  if (runs.count == 0) return runs;
  runs.degrees = runs.count - 1;
  if (!is_even) allow_for_differences(runs, shares);
  const double mean_exposure = is_even ? exposure_of(exposures, 0) : exposure / runs.count;
  runs.mean /= mean_exposure;
  runs.squares /= mean_exposure * mean_exposure;
  runs.sampling /= mean_exposure * mean_exposure;
  return runs;
}

// Derivation and evidence: docs/internals/estimators.md, section 15.

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

// Derivation and evidence: docs/internals/estimators.md, "Strata".

namespace {

/// The p-value as a normal deviate in the direction of the difference.
double deviate_of(const RunDifference& difference) {
  constexpr double kLeast = 1e-300;
  const double p = std::clamp(difference.p_value, kLeast, 1.0);
  const double size = p < 1 ? upper_normal_quantile(p / 2) : 0;
  return difference.value < 0 ? -size : size;
}

}  // namespace

double weight_of(const Stratum& stratum) {
  const double before = clean(stratum.before_exposure), after = clean(stratum.after_exposure);
  // The product of the two could overflow.
  return before > 0 && after > 0 ? 1 / (1 / before + 1 / after) : 0;
}

StratifiedDifference combined(std::span<const Stratum> strata) {
  double weights = 0, matched = 0, all = 0;
  for (const Stratum& stratum : strata) {
    const double weight = weight_of(stratum);
    const double exposure = clean(stratum.before_exposure) + clean(stratum.after_exposure);
    weights += weight;
    all += exposure;
    if (weight > 0) matched += exposure;
  }
  StratifiedDifference out;
  if (!(weights > 0)) return out;
  out.matched = matched / all;
  double down = 0, up = 0, deviate = 0, width = 0;
  for (const Stratum& stratum : strata) {
    const double weight = weight_of(stratum) / weights;
    if (weight == 0) continue;
    const RunDifference& own = stratum.difference;
    out.value += weight * own.value;
    down = root_of_squares(down, weight * (own.value - own.interval.lo));
    up = root_of_squares(up, weight * (own.interval.hi - own.value));
    const double reach = weight * (own.interval.hi - own.interval.lo);
    deviate += reach * deviate_of(own);
    width = root_of_squares(width, reach);
  }
  out.interval = {out.value - down, out.value + up};
  const bool is_known = width == 0;  // Nothing could vary: any difference is real.
  if (is_known) out.p_value = out.value == 0 ? 1 : 0;
  if (!is_known) out.p_value = std::min(1.0, 2 * normal_below(-std::abs(deviate / width)));
  return out;
}

// Derivation and evidence: docs/internals/estimators.md, "Hosts that were not recorded".

namespace {

/// The recorded hosts' figures, scaled to all.
struct Scaled {
  double value = 0;      ///< R times all exposure, certain bytes included.
  double deviation = 0;  ///< From hosts and from sampling.
  double event = 0;      ///< E, for all.
  double known = 0;      ///< X: the certain bytes of the recorded hosts themselves.
  double seen = 0;       ///< B of the recorded hosts.
  double degrees = 0;
};

Scaled scaled(std::span<const NodeSums> hosts, std::span<const double> exposures, double exposure,
              double recorded) {
  NodeSums all;
  for (const NodeSums& host : hosts) all.merge(host);
  const Runs runs = runs_of(hosts, exposures);
  const double of_sampling = runs.sampling / std::max(runs.count, 1.0);
  // Includes the sampling variance, which unrecorded hosts do not increase.
  const double of_hosts =
      runs.degrees > 0 ? (1 - recorded) * runs.squares / runs.degrees / runs.count : 0;
  const double variance = std::max(of_hosts + recorded * of_sampling, of_sampling);
  Scaled out;
  out.value = clean(runs.mean * exposure);
  out.deviation = clean(std::sqrt(variance) * exposure);
  out.event = clean(clean(all.largest_interval) / recorded);
  out.known = std::min(clean(all.certain_bytes), out.value);
  out.seen = std::min(clean(all.bytes_seen), out.value - out.known);
  // Satterthwaite: only the hosts' part is itself an estimate.
  const double part = variance > 0 ? of_hosts / variance : 0;
  out.degrees = part > 0 ? runs.degrees / std::min(part * part, 1.0)
                         : std::numeric_limits<double>::infinity();
  return out;
}

/// The tail probability of the normal law at the same quantile as this tail of Student's.
double widened(double tail, double degrees) {
  constexpr double kLikeNormal = 1e9;
  if (!(degrees < kLikeNormal)) return tail;
  const boost::math::students_t_distribution<double, Quiet> law(degrees);
  return std::max(normal_below(-boost::math::quantile(complement(law, tail))), 1e-300);
}

/// FF-SG (estimate.h) around the known bytes of the recorded hosts.
Interval interval_of(const Scaled& part, double level) {
  const double tail = widened(alpha_of(level) / 2, part.degrees);
  const double unknown = part.value - part.known;
  const Gamma lower{unknown, part.deviation};
  const Gamma upper{std::max(unknown - part.seen, 0.0) + part.event,
                    root_of_squares(part.deviation, part.event)};
  const Interval interval{part.known + std::max(part.seen, lower.lower_quantile(tail)),
                          part.known + part.seen + upper.upper_quantile(tail)};
  return {std::min(interval.lo, part.value), std::max(interval.hi, part.value)};
}

}  // namespace

std::optional<FleetTotal> fleet_total(std::span<const NodeSums> hosts,
                                      std::span<const double> exposures, double exposure,
                                      double level) {
  if (hosts.empty()) return std::nullopt;
  const double own = total_exposure(exposures, hosts.size());
  const double all = exposure > own && std::isfinite(exposure) ? exposure : own;
  FleetTotal total;
  total.recorded = own / all;
  if (hosts.size() < 2 && total.recorded < 1) return std::nullopt;
  const Scaled part = scaled(hosts, exposures, all, total.recorded);
  total.bytes = {.value = part.value,
                 .variance = part.deviation * part.deviation,
                 .interval = interval_of(part, level),
                 .samples = 0,
                 .exact = part.known};
  std::vector<NodeSums> most(hosts.begin(), hosts.end());
  bool has_open = false;
  for (NodeSums& host : most) {
    total.bytes.samples += host.samples;
    has_open = has_open || host.has_open();
    host = host.at_most();
  }
  if (has_open) {
    const Interval open = interval_of(scaled(most, exposures, all, total.recorded), level);
    total.bytes.interval.hi = std::max(total.bytes.interval.hi, open.hi);
  }
  total.degrees = part.degrees;
  total.is_of_few = hosts.size() < kFewHosts && total.recorded < 1;
  return total;
}

}  // namespace geiger::estimation
