// Derivation and evidence: docs/internals/estimators.md, "Strata".
#include "estimation/strata.h"

#include <algorithm>
#include <cmath>

#include "estimation/distributions/normal.h"
#include "estimation/root_of_squares.h"

namespace geiger::estimation {
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

}  // namespace geiger::estimation
