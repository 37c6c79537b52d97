#include "study/normal_interval.h"

#include <algorithm>
#include <cmath>

#include "estimation/distributions/normal.h"

namespace geiger::study {

estimation::Checked<double> normal_quantile(double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  return estimation::upper_normal_quantile((1 - level) / 2);
}

estimation::Checked<estimation::Interval> normal_interval(double value, double variance,
                                                          double level, double least) {
  const estimation::Checked<double> z = normal_quantile(level);
  if (!z.has_value()) return z.error();
  const bool is_sound = value >= 0 && variance >= 0 && std::isfinite(value + variance);
  if (!is_sound) return estimation::InputError::kSize;
  const double half = z.value() * std::sqrt(variance);
  return estimation::Interval{std::min(value, std::max(least, value - half)), value + half};
}

}  // namespace geiger::study
