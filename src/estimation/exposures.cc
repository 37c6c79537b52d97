// Derivation and evidence: docs/estimators.md, "Runs of different lengths".
#include "estimation/exposures.h"

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
  std::vector<double> bytes_of_run;
  bool is_even = true;
  // Welford's recurrence: exact where all runs agree.
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Estimate bytes = estimate_bytes(sums[i], 0.5);
    runs.count += 1;
    const double step = bytes.value - runs.mean;
    runs.mean += step / runs.count;
    runs.squares += step * (bytes.value - runs.mean);
    runs.sampling += (bytes.variance - runs.sampling) / runs.count;
    bytes_of_run.push_back(bytes.value);
    is_even = is_even && exposure_of(exposures, i) == exposure_of(exposures, 0);
  }
  if (runs.count == 0) return runs;
  const double mean_exposure = is_even ? exposure_of(exposures, 0) : exposure / runs.count;
  if (!is_even) {
    runs.squares = runs.spread = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double relative = exposure_of(exposures, i) / mean_exposure;
      const double residual = bytes_of_run[i] - runs.mean * relative;
      runs.squares += residual * residual;
      runs.spread += relative * relative / runs.count;
    }
  }
  runs.mean /= mean_exposure;
  runs.squares /= mean_exposure * mean_exposure;
  runs.sampling /= mean_exposure * mean_exposure;
  return runs;
}

}  // namespace geiger::estimation
