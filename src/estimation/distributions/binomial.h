// Probabilities of the binomial law.
#pragma once

#include <cstdint>

namespace geiger::estimation {

/// P(X <= k) for n trials with success probability p; p in [0, 1], 1 for k >= n.
[[nodiscard]] double binomial_below(std::uint64_t n, std::uint64_t k, double p);

/// Base-10 logarithm of the number of ways to choose k of n; 0 <= k <= n, fractions allowed.
[[nodiscard]] double log10_choose(double n, double k);

}  // namespace geiger::estimation
