// Probabilities of the binomial law, and that one of two gamma variables is larger.
#pragma once

#include <cstdint>

#include "estimation/distributions/gamma.h"

namespace geiger::estimation {

// Probabilities of the binomial law.

/// P(X <= k) for n trials with success probability p; p in [0, 1], 1 for k >= n.
[[nodiscard]] double binomial_below(std::uint64_t n, std::uint64_t k, double p);

/// Base-10 logarithm of the number of ways to choose k of n; 0 <= k <= n, fractions allowed.
[[nodiscard]] double log10_choose(double n, double k);

// The probability that one of two independent gamma variables is larger: the law for comparing two
// recordings.

/// Both probabilities of a comparison, so that neither loses precision when it is tiny.
struct Order {
  double at_most = 0;   ///< P(first <= second).
  double at_least = 0;  ///< P(first >= second).
};

/// `first` and `second` independent. Two equal constants give 1 and 1; in all other cases a tie has
/// probability 0. Never NaN.
[[nodiscard]] Order order_of(const Gamma& first, const Gamma& second);

}  // namespace geiger::estimation
