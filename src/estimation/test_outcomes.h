// The binomial law of sampled objects, for enumeration in tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace geiger::estimation {

/// P(k of n objects are sampled), lambda z being rate times size.
inline double binomial(std::uint64_t n, std::uint64_t k, double lambda_z) {
  const auto a = static_cast<double>(n), b = static_cast<double>(k);
  const double log_odds = std::log(std::expm1(lambda_z));  // ln(pi / (1 - pi)).
  return std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) + b * log_odds -
                  a * lambda_z);
}

/// How many of a group of equal objects are sampled.
struct SampledCount {
  std::uint64_t samples;
  double probability;
};

/// The whole law except outcomes less probable than `negligible`.
inline std::vector<SampledCount> sampled_counts(std::uint64_t n, double lambda_z,
                                                double negligible) {
  const double mean = static_cast<double>(n) * -std::expm1(-lambda_z);
  std::vector<SampledCount> counts;
  for (std::uint64_t k = 0; k <= n; ++k) {
    const double probability = binomial(n, k, lambda_z);
    if (probability > negligible) counts.push_back({k, probability});
    if (probability <= negligible && static_cast<double>(k) > mean) break;
  }
  return counts;
}

}  // namespace geiger::estimation
