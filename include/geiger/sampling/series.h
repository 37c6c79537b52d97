// The series behind all logarithms, inline everywhere. For |s| < 1
//
//   ln((1 + s) / (1 - s)) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...)
//
// which converges fast because natural_log brings |s| below 0.172 and the rates
// below 1/3. Plain Taylor coefficients need three terms more than a minimax polynomial, which costs
// little once per sample, and each of them can be checked by eye.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace geiger::sampling {
namespace logarithm {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns the value, rounded to a separate double: a product that passes through here is not fused
// into an addition, for any flags of the including code.
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

// s^2/3 + s^4/5 + ..., from term `kFirst` to before term `kEnd`, divided by s^(2 kFirst): Horner's
// scheme without a loop, two instructions a term. The omitted rest of the series is below s^(2 kEnd
// + 2) / (2 kEnd + 3); each caller states its bound.
template <int kEnd, int kFirst = 0>
inline double series(double s_squared) {
  if constexpr (kFirst == kEnd) {
    return 0;
  } else {
    return rounded((series<kEnd, kFirst + 1>(s_squared) + kCoefficients[kFirst]) * s_squared);
  }
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
  const double tail = 2.0 * series<10>(s * s);  // Left out: below 2^-60.
  const double low = rounded(s * (h + tail)) + rounded(r.exponent * kLn2Low);
  return rounded(r.exponent * kLn2High) - ((h - low) - r.f);
}

// 2 atanh(s) for 0 <= s <= 1/3. Left out: below 2^-58 at 1/3.
inline double twice_atanh(double s) { return 2.0 * (s + rounded(s * series<16>(s * s))); }

// P(K >= k) = P(-ln(u) >= lambda k) = P(u <= e^(-lambda k)) = q^k for a uniform u
// in (0, 1]. The edges:
//
//   u     k + 1 lies in [1, 2^53], which doubles hold exactly, and so does the
//         product with a power of two. u = 0 cannot occur (a logarithm of 0 would
//         switch the sampler off for good); u = 1 can, and gives K = 0. As u is never
//         subnormal, natural_log()'s cases are left out.
//   -ln   lies in [0, 53 ln 2] = [0, 36.74]: +0 or -0 at u = 1, else positive.
//   /     lambda > 0 always. T = 1: lambda = +inf, and finite / inf = 0, so K = 0
//         and every byte is a success; 0 / 0 and inf / inf cannot arise. Up to
//         T = 2^40 the quotient stays below 2^46, where doubles have 7 bits and
//         more to spare below 1, and floor is the truncation of the conversion.
//   cast  From T about 2^58.8 the quotient may pass 2^64, where the conversion is
//         undefined. 2^64 - 1 then means: never in this process. Written as
//         "not below", so that a NaN (a lambda that rate_of cannot return)
//         switches sampling off instead of being undefined.
inline std::uint64_t skip_count(std::uint64_t random_bits, double lambda) {
  const double u = static_cast<double>((random_bits >> 11) + 1) * 0x1p-53;
  const double quotient = -log_reduced(reduce(u)) / lambda;
  if (!(quotient < 0x1p64)) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(quotient);
}

}  // namespace logarithm

}  // namespace geiger::sampling
