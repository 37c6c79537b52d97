#include "estimation/distributions/binomial.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "base/check.h"
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

}  // namespace geiger::estimation
