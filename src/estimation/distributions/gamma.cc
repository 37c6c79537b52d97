#include "estimation/distributions/gamma.h"

#include <algorithm>
#include <boost/math/special_functions/cbrt.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

#include "estimation/distributions/quiet.h"

namespace geiger::estimation {

double upper_normal_quantile(double p) {
  constexpr double kLeast = 1e-300;
  const double inside = p > kLeast ? std::min(p, 1 - 0x1p-53) : kLeast;
  return std::sqrt(2.0) * boost::math::erfc_inv(2 * inside, Quiet());
}

double normal_below(double z) { return boost::math::erfc(-z / std::sqrt(2.0), Quiet()) / 2; }

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// Quantile of shape a, scale 1, at the probability of z in the normal law.
double cube_of_normal(double shape, double z) {
  const double root = 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape));
  return shape * root * root * root;
}

double normal_of_cube(double shape, double x) {
  return 3 * std::sqrt(shape) * (boost::math::cbrt(x / shape, Quiet()) - 1 + 1 / (9 * shape));
}

double gamma_upper_quantile(double shape, double p) {
  if (shape > kNormalShape) return cube_of_normal(shape, upper_normal_quantile(p));
  return boost::math::gamma_q_inv(shape, p, Quiet());
}

struct ShapeScale {
  double shape, scale;
};

// From quotients of mean and deviation, because their squares may overflow.
ShapeScale shape_scale(const Gamma& law) {
  const double ratio = law.mean / law.deviation;
  return {ratio * ratio, law.deviation / ratio};
}

bool is_constant(const Gamma& law) {
  return !(law.mean > 0) || !(law.deviation > 0) || !(shape_scale(law).shape < kConstantShape);
}

// `scale` may be infinite if `x` has underflowed to 0. The limit is Markov's: P(X > x) = p implies
// x <= mean / p.
double scaled(double x, double scale, double limit) {
  return x > 0 ? std::min({x * scale, limit, kLargest}) : 0;
}

}  // namespace

double gamma_quantile(double shape, double p) {
  if (shape > kNormalShape) return cube_of_normal(shape, -upper_normal_quantile(p));
  return boost::math::gamma_p_inv(shape, p, Quiet());
}

double Gamma::lower_quantile(double p) const {
  if (is_constant(*this)) return std::max(mean, 0.0);
  const auto [shape, scale] = shape_scale(*this);
  return shape > kVanishingShape ? scaled(gamma_quantile(shape, p), scale, mean / (1 - p)) : 0;
}

double Gamma::upper_quantile(double p) const {
  if (is_constant(*this)) return std::max(mean, 0.0);
  const auto [shape, scale] = shape_scale(*this);
  return shape > kVanishingShape ? scaled(gamma_upper_quantile(shape, p), scale, mean / p) : 0;
}

double Gamma::below(double x) const {
  if (!(x > 0)) return 0;
  if (is_constant(*this)) return x >= mean ? 1 : 0;
  const auto [shape, scale] = shape_scale(*this);
  if (!(shape > kVanishingShape && scale < kLargest)) return 1;
  if (shape > kNormalShape) return normal_below(normal_of_cube(shape, x / scale));
  return boost::math::gamma_p(shape, x / scale, Quiet());
}

double Gamma::above(double x) const {
  if (!(x > 0)) return 1;
  if (is_constant(*this)) return x >= mean ? 0 : 1;
  const auto [shape, scale] = shape_scale(*this);
  if (!(shape > kVanishingShape && scale < kLargest)) return 0;
  if (shape > kNormalShape) return normal_below(-normal_of_cube(shape, x / scale));
  return boost::math::gamma_q(shape, x / scale, Quiet());
}

}  // namespace geiger::estimation
