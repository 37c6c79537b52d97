// 1 - e^-x without libm, for the reasons and by the rules given in logarithm.h.
//
// Threads, signals, fork: pure functions. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::sampling {

/// 1 - e^-x, within 2 ulp for every x >= 0, subnormals included; 1 for +inf. NaN for
/// x < 0 and NaN.
[[nodiscard]] double one_minus_exp(double x);

/// Bytes that one sampled object of `size` >= 1 bytes represents, drawn at `lambda` per byte
/// (rate_of()): size / (1 - e^(-lambda size)), rounded to a whole byte; size at lambda = +inf.
[[nodiscard]] std::uint64_t weighted_bytes(std::uint64_t size, double lambda);

}  // namespace geiger::sampling
