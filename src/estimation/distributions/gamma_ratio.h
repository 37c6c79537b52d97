// The probability that one of two independent gamma variables is larger: the law for comparing two
// recordings.
#pragma once

#include "estimation/distributions/gamma.h"

namespace geiger::estimation {

/// Both probabilities of a comparison, so that neither loses precision when it is tiny.
struct Order {
  double at_most = 0;   ///< P(first <= second).
  double at_least = 0;  ///< P(first >= second).
};

/// `first` and `second` independent. Two equal constants give 1 and 1; in all other cases a tie has
/// probability 0. Never NaN.
[[nodiscard]] Order order_of(const Gamma& first, const Gamma& second);

}  // namespace geiger::estimation
