#include "estimation/distributions/normal.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "estimation/distributions/quiet.h"

namespace geiger::estimation {

double upper_normal_quantile(double p) {
  constexpr double kLeast = 1e-300;
  const double inside = p > kLeast ? std::min(p, 1 - 0x1p-53) : kLeast;
  return std::sqrt(2.0) * boost::math::erfc_inv(2 * inside, Quiet());
}

double normal_below(double z) { return boost::math::erfc(-z / std::sqrt(2.0), Quiet()) / 2; }

}  // namespace geiger::estimation
