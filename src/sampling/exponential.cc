// With x = k ln 2 + r, |r| <= ln 2 / 2, and q = e^-r - 1:
//
//   1 - e^-x = 1 - 2^-k (1 + q) = (1 - 2^-k) - 2^-k q
//
// where 1 - 2^-k is exact. For k = 0 the first part is 0 and the result is -q, with the relative
// error of the series; for k >= 1 the result is above 0.29 and q at most 0.42, so the rounding
// error of q counts half or less.
#include "sampling/exponential.h"

#include <bit>
#include <limits>

namespace geiger::sampling {
namespace {

// As in logarithm.inl: products of the high part with exponents are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

// From here on e^-x is below a quarter ulp of 1.
constexpr double kLargest = 39;

constexpr double kCoefficients[] = {
    1.0 / 2,         1.0 / 6,          1.0 / 24,         1.0 / 120,     1.0 / 720,
    1.0 / 5040,      1.0 / 40320,      1.0 / 362880,     1.0 / 3628800, 1.0 / 39916800,
    1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};

/// 1 - e^-r for |r| <= 0.35: r - r^2 (1/2 - r/6 + r^2/24 - ...). The omitted terms are below r
/// 2^-58.
double small_one_minus_exp(double r) {
  double sum = 0;
  for (int i = 12; i >= 0; --i) sum = kCoefficients[i] - r * sum;
  return r - r * r * sum;
}

/// 2^-k for 0 <= k <= 1022.
double inverse_power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - k) << 52);
}

}  // namespace

double one_minus_exp(double x) {
  if (!(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x >= kLargest) return 1;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): x >= 0; at the fold either k will do.
  const auto k = static_cast<int>(x * kInverseLn2 + 0.5);
  const auto count = static_cast<double>(k);
  const double r = (x - count * kLn2High) - count * kLn2Low;
  const double scale = inverse_power_of_two(k);
  return (1.0 - scale) + scale * small_one_minus_exp(r);
}

std::uint64_t weighted_bytes(std::uint64_t size, double lambda) {
  const auto bytes = static_cast<double>(size);
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): positive, and lround is libm's.
  return static_cast<std::uint64_t>(bytes / one_minus_exp(lambda * bytes) + 0.5);
}

}  // namespace geiger::sampling
