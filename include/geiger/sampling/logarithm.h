// Logarithms without libm.
//
// The sampler runs inside the host program's malloc, where a call to log() could resolve a symbol
// (and allocate), and where two libm versions would draw two different sequences from one seed.
// These use only +, -, *, / in one fixed order, each correctly rounded by IEEE 754, so every
// machine gets the same bits; compilers are prevented from fusing multiplications and additions.
// Only options that violate IEEE 754 (-ffast-math) change last digits.
//
// Threads, signals, fork: pure functions. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::sampling {

/// ln(x), within 1 ulp for every positive finite x, subnormals included.
/// ln(1) = +0 exactly. ln(0) = -inf, ln(+inf) = +inf, NaN for x < 0 and NaN.
[[nodiscard]] double natural_log(double x);

/// The rate per byte of a mean interval of T bytes: lambda = -ln(1 - 1/T), the value for which 1 -
/// e^-lambda is 1/T. Within 3 ulp for every T >= 2; +inf for T = 1 (every byte is drawn), and for
/// 0, which is not an interval.
[[nodiscard]] double rate_of(std::uint64_t interval_bytes);

/// The rate of trials that succeed with probability p: lambda = -ln(1 - p). Within 3 ulp for
/// 2^-1000 <= p < 1; 0 for p = 0 and +inf for p = 1. Requires 0 <= p <= 1.
[[nodiscard]] double rate_of_probability(double probability);

}  // namespace geiger::sampling

#ifndef GEIGER_SAMPLING_COMPILED
#define GEIGER_SAMPLING_INLINE inline
#include "geiger/sampling/logarithm.inl"
#endif
