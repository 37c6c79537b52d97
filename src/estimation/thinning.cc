#include "estimation/thinning.h"

#include <cmath>

#include "estimation/sums.h"

namespace geiger::estimation {

double keep_probability(Bytes size, double from, double to) {
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

double half_of(double pi) { return pi / (1 + std::sqrt(1 - pi)); }

// With r = sqrt(1 - pi), q = 1 - r: of pi = 1 - r^2, each alone has q r, a share of
// r / (1 + r); the rest, q^2, is both.
Halves split(double pi, std::uint64_t random) {
  const double r = std::sqrt(1 - pi);
  const double alone = r / (1 + r);
  const double u = static_cast<double>(random >> 11) * 0x1p-53;
  if (u < alone) return {true, false};
  if (u < 2 * alone) return {false, true};
  return {true, true};
}

double beside_first_half(double drawn, double kept) {
  const double q = half_of(kept);
  return q < 1 ? (drawn - q) / (1 - q) : 1;
}

}  // namespace geiger::estimation
