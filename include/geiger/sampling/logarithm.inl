// The definitions of logarithm.h. All logarithms rest on one series. For |s| < 1
//
//   ln((1 + s) / (1 - s)) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...)
//
// which converges fast because natural_log brings |s| below 0.172 and the rates
// below 1/3. Plain Taylor coefficients take three terms more than a minimax
// polynomial would, a price paid once per sample, and each of them can be
// checked by eye.
#pragma once

#include <cstring>
#include <limits>

#include "geiger/sampling/logarithm.h"

namespace geiger::sampling {
namespace logarithm {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The value itself, rounded to a double of its own: a product that passes through here is not fused
// into an addition, whatever the flags of the including code.
inline double rounded(double value) {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__("" : "+x"(value));
  return value;
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(value));
  return value;
#else
  const volatile double stored = value;
  return stored;
#endif
}

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to{};
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// ln 2 = kLn2High + kLn2Low. The high part has 21 zero bits at its end, so its
// product with an exponent (11 bits) is exact.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

inline constexpr double kCoefficients[] = {
    1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
    1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27, 1.0 / 29, 1.0 / 31, 1.0 / 33};

// s^2/3 + s^4/5 + ..., `terms` of them. What is left out is below s^(2 terms + 2) / (2 terms + 3),
// each caller states how small that is.
inline double series(double s_squared, int terms) {
  double sum = 0;
  for (int i = terms - 1; i >= 0; --i) sum = rounded((sum + kCoefficients[i]) * s_squared);
  return sum;
}

inline constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << 52) - 1;

// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for normal x > 0.
struct Reduced {
  double exponent;
  double f;
};

inline Reduced reduce(double x) {
  const auto bits = bits_as<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto mantissa = bits_as<double>((bits & kFractionMask) | std::uint64_t{1023} << 52);
  if (mantissa >= 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
    mantissa *= 0.5;
    ++exponent;
  }
  return {static_cast<double>(exponent), mantissa - 1.0};  // Exact: Sterbenz.
}

// With s = f / (2 + f):  ln(1 + f) = 2 s + s R,  R = 2 series(s^2).
// As 2 s = f - h + s h with h = f^2/2, the same number is
//   f - (h - s (h + R)),
// where f is exact and everything subtracted from it is small: only the last
// addition rounds at the size of the result.
inline double log_reduced(Reduced r) {
  const double s = r.f / (2.0 + r.f);
  const double h = rounded(0.5 * r.f * r.f);
  const double tail = 2.0 * series(s * s, 10);  // Left out: below 2^-60.
  const double low = rounded(s * (h + tail)) + rounded(r.exponent * kLn2Low);
  return rounded(r.exponent * kLn2High) - ((h - low) - r.f);
}

// 2 atanh(s) for 0 <= s <= 1/3. Left out: below 2^-58 at 1/3.
inline double twice_atanh(double s) { return 2.0 * (s + rounded(s * series(s * s, 16))); }

}  // namespace logarithm

GEIGER_SAMPLING_INLINE double natural_log(double x) {
  if (!(x > 0)) return x == 0 ? -logarithm::kInfinity : logarithm::kNan;
  if (x == logarithm::kInfinity) return x;
  if (x >= 0x1p-1022) return logarithm::log_reduced(logarithm::reduce(x));
  logarithm::Reduced subnormal = logarithm::reduce(x * 0x1p54);
  subnormal.exponent -= 54;
  return logarithm::log_reduced(subnormal);
}

// -ln(1 - 1/T) = ln(T / (T - 1)) = 2 atanh(1 / (2T - 1)): no cancellation, where
// 1 - 1/T would round away all of 1/T beyond T = 2^53. 2T - 1 is exact below
// 2^53 and has a relative error of at most 2^-53 above.
GEIGER_SAMPLING_INLINE double rate_of(std::uint64_t interval_bytes) {
  if (interval_bytes <= 1) return logarithm::kInfinity;
  return logarithm::twice_atanh(1.0 / (2.0 * static_cast<double>(interval_bytes) - 1.0));
}

// The identity of rate_of with p for 1/T. Above 1/2 the series would be slow, and 1 - p is exact
// (Sterbenz).
GEIGER_SAMPLING_INLINE double rate_of_probability(double probability) {
  if (probability > 0.5) return -natural_log(1.0 - probability);
  return logarithm::twice_atanh(probability / (2.0 - probability));
}

}  // namespace geiger::sampling
