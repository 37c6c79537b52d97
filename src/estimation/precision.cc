#include "estimation/precision.h"

#include <cmath>
#include <limits>

#include "estimation/distributions/gamma.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

double precision_of(double samples, double level) {
  if (!(samples > 0)) return std::numeric_limits<double>::infinity();
  const Gamma law{.mean = samples + 1, .deviation = std::sqrt(samples + 1)};
  return law.upper_quantile(alpha_of(level) / 2) / samples - 1;
}

std::optional<double> samples_for_precision(double precision, double level) {
  if (!is_confidence_level(level) || !(precision > 0) || std::isinf(precision)) return std::nullopt;
  // precision_of decreases with samples: bisect the logarithm.
  double low = 1e-12, high = 1e24;
  if (precision_of(high, level) > precision || precision_of(low, level) < precision) {
    return std::nullopt;
  }
  while (high > low * (1 + 1e-12)) {
    const double middle = std::sqrt(low * high);
    (precision_of(middle, level) > precision ? low : high) = middle;
  }
  return high;
}

double round_interval(double interval) {
  constexpr double kWhole = 1024;
  if (!(interval >= 1)) return 1;
  if (interval < kWhole) return std::floor(interval);
  const double quarter = std::exp2(std::floor(std::log2(interval))) / 4;
  return std::floor(interval / quarter) * quarter;
}

}  // namespace geiger::estimation
