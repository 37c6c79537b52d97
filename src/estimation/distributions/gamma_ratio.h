// Which of two independent gamma variables is the larger one: the law behind the
// comparison of two recordings.
#pragma once

#include "estimation/distributions/gamma.h"

namespace geiger::estimation {

/// Both sides of one comparison, so that neither loses its digits when it is tiny.
struct Order {
  double at_most = 0;   ///< P(first <= second).
  double at_least = 0;  ///< P(first >= second).
};

/// `first` and `second` independent. Two equal constants give 1 and 1, in all other
/// cases a tie has no probability. Never NaN.
[[nodiscard]] Order order_of(const Gamma& first, const Gamma& second);

}  // namespace geiger::estimation
