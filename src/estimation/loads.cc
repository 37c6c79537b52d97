#include "estimation/loads.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace geiger::estimation {
namespace {

/// Sites with a larger sampling variance in a run, relative to their bytes, have ratios that are
/// too skew for a median: that of 10 samples.
constexpr double kMostVariance = 0.1;
/// How much the bytes of a site vary from run to run when their load is taken out. A site with many
/// samples weighs no more than this allows.
constexpr double kSiteDeviation = 0.2;

/// A site with enough samples: its ratios in all runs, before and after.
struct Ratios {
  std::vector<double> of_runs;
  double weight = 0;
};

std::vector<Ratios> ratios_of(std::span<const SiteRuns> sites) {
  std::vector<Ratios> all;
  for (const SiteRuns& site : sites) {
    Ratios ratios;
    double bytes = 0, variance = 0;
    for (const bool is_after : {false, true}) {
      const auto& side = is_after ? site.after : site.before;
      const auto& exposures = is_after ? site.after_exposures : site.before_exposures;
      for (std::size_t run = 0; run < side.size(); ++run) {
        const double exposure = exposures.empty() ? 1 : exposures[run];
        ratios.of_runs.push_back(side[run].all_bytes() / exposure);
        bytes += ratios.of_runs.back();
        variance += side[run].bytes_variance / (exposure * exposure);
      }
    }
    const auto runs = static_cast<double>(ratios.of_runs.size());
    if (!(bytes > 0) || variance * runs > kMostVariance * bytes * bytes) continue;
    for (double& ratio : ratios.of_runs) ratio *= runs / bytes;
    ratios.weight = 1 / (variance * runs / (bytes * bytes) + kSiteDeviation * kSiteDeviation);
    all.push_back(std::move(ratios));
  }
  return all;
}

/// A value, and its weight.
using Weighted = std::pair<double, double>;

double median_of(std::vector<Weighted> values) {
  std::ranges::sort(values);
  double weight = 0;
  for (const Weighted& each : values) weight += each.second;
  double below = 0;
  for (const Weighted& each : values) {
    below += each.second;
    if (2 * below >= weight) return each.first;
  }
  return 0;
}

/// The variance of a median, relative to it: of a normal law, by the median deviation.
double relative_variance(const std::vector<Weighted>& values, double median) {
  constexpr double kPerDeviation = 1.4826;  // A standard deviation, in median deviations.
  constexpr double kOfMedian = 1.5708;      // pi/2: its variance over that of the mean.
  std::vector<Weighted> deviations;
  double weight = 0, squares = 0;
  for (const auto& [value, own] : values) {
    deviations.emplace_back(std::abs(value - median), own);
    weight += own;
    squares += own * own;
  }
  const double deviation = kPerDeviation * median_of(std::move(deviations)) / median;
  return kOfMedian * deviation * deviation * squares / (weight * weight);
}

}  // namespace

std::optional<Loads> loads_of(std::span<const SiteRuns> sites) {
  const std::vector<Ratios> ratios = ratios_of(sites);
  if (ratios.size() < kFewestSitesOfLoad) return std::nullopt;
  const std::size_t runs = ratios.front().of_runs.size();
  if (runs < 2) return std::nullopt;
  std::vector<double> loads;
  double sum = 0, error = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<Weighted> of_run;
    for (const Ratios& site : ratios) of_run.emplace_back(site.of_runs[run], site.weight);
    const double load = median_of(of_run);
    if (!(load > 0)) return std::nullopt;
    error += relative_variance(of_run, load);
    loads.push_back(load);
    sum += load;
  }
  const auto count = static_cast<double>(runs);
  double squares = 0;
  for (double& load : loads) {
    load *= count / sum;
    squares += (load - 1) * (load - 1);
  }
  Loads found;
  const auto before = static_cast<std::ptrdiff_t>(sites.front().before.size());
  found.before.assign(loads.begin(), loads.begin() + before);
  found.after.assign(loads.begin() + before, loads.end());
  found.deviation = std::sqrt(std::max(squares / (count - 1) - error / count, 0.0));
  return found;
}

}  // namespace geiger::estimation
