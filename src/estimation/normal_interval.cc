#include "estimation/normal_interval.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace geiger::estimation {

Checked<double> normal_quantile(double level) {
  if (!is_confidence_level(level)) return InputError::kLevel;
  return std::sqrt(2.0) * boost::math::erfc_inv(1 - level);
}

Checked<Interval> normal_interval(double value, double variance, double level, double least) {
  const Checked<double> z = normal_quantile(level);
  if (!z.has_value()) return z.error();
  const bool is_sound = value >= 0 && variance >= 0 && std::isfinite(value + variance);
  if (!is_sound) return InputError::kSize;
  const double half = z.value() * std::sqrt(variance);
  return Interval{std::min(value, std::max(least, value - half)), value + half};
}

}  // namespace geiger::estimation
