#include "estimation/distributions/probabilities.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/cbrt.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "base/check.h"
#include "estimation/distributions/gamma.h"
#include "estimation/distributions/quiet.h"

namespace geiger::estimation {

double binomial_below(std::uint64_t n, std::uint64_t k, double p) {
  GEIGER_ASSERT(p >= 0 && p <= 1);
  if (k >= n) return 1;
  using Law = boost::math::binomial_distribution<double, Quiet>;
  return boost::math::cdf(Law(static_cast<double>(n), p), static_cast<double>(k));
}

double log10_choose(double n, double k) {
  GEIGER_ASSERT(k >= 0 && k <= n);
  const auto log_factorial = [](double x) { return boost::math::lgamma(x + 1, Quiet()); };
  return (log_factorial(n) - log_factorial(k) - log_factorial(n - k)) / std::log(10.0);
}

namespace {

// A law this much narrower than the other counts as constant: it changes the standard deviation of
// the difference by less than a fraction of 1e-13.
constexpr double kConstantRatio = 1e13;

double capped_shape_of(const Gamma& law) {
  if (!(law.mean > 0) || !(law.deviation > 0)) return kConstantShape;
  const double ratio = law.mean / law.deviation;
  return std::min(ratio * ratio, kConstantShape);
}

Order of_constants(double first, double second) {
  return {first <= second ? 1.0 : 0.0, first >= second ? 1.0 : 0.0};
}

// The scale is mean / shape; odds = scale of second over scale of first.
Order by_beta(double first_shape, double second_shape, double odds) {
  // g1 <= odds g2 is g1 / (g1 + g2) <= odds / (1 + odds); computed from the smaller side, which a
  // double represents precisely.
  if (odds <= 1) {
    const double x = odds / (1 + odds);
    return {boost::math::ibeta(first_shape, second_shape, x, Quiet()),
            boost::math::ibetac(first_shape, second_shape, x, Quiet())};
  }
  const double x = 1 / (1 + odds);
  return {boost::math::ibetac(second_shape, first_shape, x, Quiet()),
          boost::math::ibeta(second_shape, first_shape, x, Quiet())};
}

// Cube root of a gamma variable of this mean and shape as a normal one.
struct Normal {
  double mean;
  double variance;
};

Normal cube_root_of(double mean, double shape) {
  const double root = boost::math::cbrt(mean, Quiet());
  return {root * (1 - 1 / (9 * shape)), root * root / (9 * shape)};
}

Order by_cube_roots(const Gamma& first, const Gamma& second) {
  // In units of the larger mean, so that nothing overflows.
  const double unit = std::max(first.mean, second.mean);
  const Normal a = cube_root_of(first.mean / unit, capped_shape_of(first));
  const Normal b = cube_root_of(second.mean / unit, capped_shape_of(second));
  const double z = (b.mean - a.mean) / std::sqrt(a.variance + b.variance);
  return {normal_below(z), normal_below(-z)};
}

}  // namespace

Order order_of(const Gamma& first, const Gamma& second) {
  const double a = capped_shape_of(first);
  const double b = capped_shape_of(second);
  if (std::min(a, b) >= kConstantShape) return of_constants(first.mean, second.mean);
  if (b >= kConstantRatio * a) return {first.below(second.mean), first.above(second.mean)};
  if (a >= kConstantRatio * b) return {second.above(first.mean), second.below(first.mean)};
  if (std::min(a, b) > kNormalShape) return by_cube_roots(first, second);
  // Nearly all of a vanishing law is at 0.
  if (a < kVanishingShape) return {1, 0};
  if (b < kVanishingShape) return {0, 1};
  const double odds = second.mean / first.mean * (a / b);
  if (!(odds < 1e300)) return {1, 0};
  if (!(odds > 1e-300)) return {0, 1};
  return by_beta(a, b, odds);
}

}  // namespace geiger::estimation
