#include "estimation/thinning.h"

#include <cmath>

#include "estimation/sums.h"

namespace geiger::estimation {

double keep_probability(Bytes size, double from, double to) {
  return inclusion_probability(size, to) / inclusion_probability(size, from);
}

namespace {

// Chooses "first only", "second only" or "both" with a number uniform on [0, 1).
Parts chosen(double first_alone, double second_alone, std::uint64_t random) {
  const double u = static_cast<double>(random >> 11) * 0x1p-53;
  if (u < first_alone) return {true, false};
  if (u < first_alone + second_alone) return {false, true};
  return {true, true};
}

}  // namespace

// With a and b for the rates of the parts and t = size - offset for the bytes from the drawn one
// on: at the drawn byte, where one of the parts succeeded, the first alone does so with probability
// (1 - e^-a) e^-b / (1 - e^-lambda). The second also draws none of the t - 1 bytes that were never
// tried with probability e^(-b (t - 1)).
Parts parts_of(Bytes size, std::uint64_t offset, double lambda, double share,
               std::uint64_t random) {
  const double tail = offset < size ? static_cast<double>(size - offset) : 1;
  const double a = share * lambda;
  const double b = (1 - share) * lambda;
  const double drawn = std::expm1(-lambda);
  return chosen(std::expm1(-a) * std::exp(-b * tail) / drawn,
                std::expm1(-b) * std::exp(-a * tail) / drawn, random);
}

double part_of(double pi, double share) {
  return pi < 1 ? -std::expm1(share * std::log1p(-pi)) : 1;
}

// Of pi = 1 - (1 - q)(1 - p), "first alone" has q (1 - p), "second alone" p (1 - q), both q p.
Parts split(double pi, double share, std::uint64_t random) {
  if (!(pi > 0)) return {true, true};
  const double first = part_of(pi, share);
  const double second = part_of(pi, 1 - share);
  return chosen(first * (1 - second) / pi, second * (1 - first) / pi, random);
}

double beside_first_part(double drawn, double kept, double share) {
  const double q = part_of(kept, share);
  return q < 1 ? (drawn - q) / (1 - q) : 1;
}

}  // namespace geiger::estimation
