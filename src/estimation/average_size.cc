#include "estimation/average_size.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace geiger::estimation {
namespace {

/// P(|Z| > z) = 1 - level.
double normal_quantile(double level) {
  return std::sqrt(2.0) * boost::math::erfc_inv(std::max(1 - level, 0x1p-53));
}

/// Var(Y/C) ~ (V - 2 r CB + r^2 VC) / C^2; the certain part is a constant in both.
double ratio_variance(const NodeSums& sums, double ratio, double objects) {
  const double variance =
      sums.bytes_variance - 2 * ratio * sums.covariance + ratio * ratio * sums.objects_variance;
  return std::max(0.0, variance) / (objects * objects);
}

Interval bound(const NodeSums& sums, double level, Bytes least_size) {
  const double each = 1 - (1 - level) / 2;
  const Interval bytes = estimate_bytes(sums, each).interval;
  const Estimate count = least_size > 0 ? estimate_objects_of_size_at_least(least_size, sums, each)
                                        : estimate_objects(sums, each);
  const Interval& objects = count.interval;
  return {bytes.lo / objects.hi, bytes.hi / objects.lo};
}

}  // namespace

Checked<AverageSize> average_size(const NodeSums& sums, double level, Bytes least_size) {
  if (!is_confidence_level(level)) return InputError::kLevel;
  const double objects = estimate_objects(sums, level).value;
  if (sums.samples + sums.certain_samples == 0 || !(objects > 0)) return InputError::kCount;
  const double value = estimate_bytes(sums, level).value / objects;
  if (sums.samples < kSamplesForRatio) {
    const Interval wide = bound(sums, level, least_size);
    return AverageSize{value, {std::min(wide.lo, value), std::max(wide.hi, value)}, 0, true};
  }
  const double variance = ratio_variance(sums, value, objects);
  const double half = normal_quantile(level) * std::sqrt(variance);
  return AverageSize{value, {std::max(0.0, value - half), value + half}, variance, false};
}

}  // namespace geiger::estimation
