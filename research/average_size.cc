#include "research/average_size.h"

#include <algorithm>
#include <cmath>

#include "research/intervals.h"

namespace geiger::research {
namespace {

/// Var(Y/C) ~ (V - 2 r CB + r^2 VC) / C^2; the certain part is a constant in both.
double ratio_variance(const RatioSums& sums, double ratio, double objects) {
  const double variance =
      sums.bytes_variance - 2 * ratio * sums.covariance + ratio * ratio * sums.objects_variance;
  return std::max(0.0, variance) / (objects * objects);
}

estimation::Interval bound(const estimation::NodeSums& sums, double level) {
  const double each = 1 - (1 - level) / 2;
  const estimation::Interval bytes = estimation::estimate_bytes(sums, each).interval;
  const estimation::Interval objects = estimation::estimate_objects(sums, each).interval;
  return {bytes.lo / objects.hi, bytes.hi / objects.lo};
}

}  // namespace

void RatioSums::add(Bytes size, double lambda, std::uint64_t count) {
  NodeSums::add(size, lambda, count);
  const double pi = estimation::inclusion_probability(size, lambda);
  covariance += static_cast<double>(count) * static_cast<double>(size) * (1 - pi) / pi / pi;
}

estimation::Checked<AverageSize> average_size(const RatioSums& sums, double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  const double objects = estimation::estimate_objects(sums, level).value;
  if (sums.samples + sums.certain_samples == 0 || !(objects > 0))
    return estimation::InputError::kCount;
  const double value = estimation::estimate_bytes(sums, level).value / objects;
  if (sums.samples < kSamplesForRatio) {
    const estimation::Interval wide = bound(sums, level);
    const bool is_exact = !(wide.lo < wide.hi);
    return AverageSize{value, {std::min(wide.lo, value), std::max(wide.hi, value)}, 0, !is_exact};
  }
  const double variance = ratio_variance(sums, value, objects);
  const estimation::Checked<estimation::Interval> interval =
      normal_interval(value, variance, level);
  if (!interval.has_value()) return interval.error();
  return AverageSize{value, interval.value(), variance, false};
}

}  // namespace geiger::research
