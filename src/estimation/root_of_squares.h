// The combined deviation of independent errors.
#pragma once

#include <algorithm>
#include <cmath>

namespace geiger::estimation {

/// sqrt(a^2 + b^2) without overflow, to 2 units in the last place. The same bits on every
/// processor, unlike std::hypot, which uses fused multiply-add if available.
[[nodiscard]] inline double root_of_squares(double a, double b) {
  const double large = std::max(std::abs(a), std::abs(b));
  const double small = std::min(std::abs(a), std::abs(b));
  if (!(large > 0) || std::isinf(large)) return large;
  const double ratio = small / large;
  return large * std::sqrt(1 + ratio * ratio);
}

}  // namespace geiger::estimation
