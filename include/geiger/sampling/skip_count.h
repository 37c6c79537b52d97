// The skip count: the number of trials that fail before the next success.
//
// Threads, signals, fork: a pure function. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::sampling {

/// The skip count for 64 random bits: floor(-ln(u) / lambda) with
/// u = (k + 1) 2^-53 and k the top 53 bits. Saturates at 2^64 - 1.
[[nodiscard]] std::uint64_t skip_count_of(std::uint64_t random_bits, double lambda);

}  // namespace geiger::sampling

#ifndef GEIGER_SAMPLING_COMPILED
#define GEIGER_SAMPLING_INLINE inline
#include "geiger/sampling/skip_count.inl"
#endif
