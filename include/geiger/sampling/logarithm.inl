// The definitions of logarithm.h.
#pragma once

#include "geiger/sampling/logarithm.h"
#include "geiger/sampling/series.h"

namespace geiger::sampling {

GEIGER_SAMPLING_INLINE double natural_log(double x) {
  if (!(x > 0)) return x == 0 ? -logarithm::kInfinity : logarithm::kNan;
  if (x == logarithm::kInfinity) return x;
  if (x >= 0x1p-1022) return logarithm::log_reduced(logarithm::reduce(x));
  logarithm::Reduced subnormal = logarithm::reduce(x * 0x1p54);
  subnormal.exponent -= 54;
  return logarithm::log_reduced(subnormal);
}

// -ln(1 - 1/T) = ln(T / (T - 1)) = 2 atanh(1 / (2T - 1)): no cancellation, where
// 1 - 1/T would round away all of 1/T beyond T = 2^53. 2T - 1 is exact below
// 2^53 and has a relative error of at most 2^-53 above.
GEIGER_SAMPLING_INLINE double rate_of(std::uint64_t interval_bytes) {
  if (interval_bytes <= 1) return logarithm::kInfinity;
  return logarithm::twice_atanh(1.0 / (2.0 * static_cast<double>(interval_bytes) - 1.0));
}

// The identity of rate_of with p for 1/T. Above 1/2 the series would be slow, and 1 - p is exact
// (Sterbenz).
GEIGER_SAMPLING_INLINE double rate_of_probability(double probability) {
  if (probability > 0.5) return -natural_log(1.0 - probability);
  return logarithm::twice_atanh(probability / (2.0 - probability));
}

}  // namespace geiger::sampling
