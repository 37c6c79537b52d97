// Derivation and evidence: docs/internals/estimators.md, "Runs of different lengths".
#include "estimation/exposures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "estimation/estimate.h"

namespace geiger::estimation {
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

}  // namespace geiger::estimation
