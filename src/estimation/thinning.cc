#include "estimation/thinning.h"

#include <cmath>

#include "estimation/sums.h"

namespace geiger::estimation {

double keep_probability(Bytes size, double from, double to) {
  if (size == 0) return 0;
  return inclusion_probability(size, to) / inclusion_probability(size, from);
}

// Let r = e^(-lambda/2) be the chance that a byte is not drawn by one half, and
// t = size - offset the bytes from the drawn one on. At the drawn byte one half
// alone succeeds with probability r / (1 + r) each; that it also stays alone
// over the t - 1 bytes that were never put to trial has probability r^(t - 1).
// So "first alone" and "second alone" have r^t / (1 + r) each, the rest is both.
Halves halves_of(Bytes size, std::uint64_t offset, double lambda, std::uint64_t random) {
  const double tail = offset < size ? static_cast<double>(size - offset) : 1;
  const double alone = std::exp(-lambda / 2 * tail) / (1 + std::exp(-lambda / 2));
  const double u = static_cast<double>(random >> 11) * 0x1p-53;
  if (u < alone) return {true, false};
  if (u < 2 * alone) return {false, true};
  return {true, true};
}

}  // namespace geiger::estimation
