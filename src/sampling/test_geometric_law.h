// The law of skip counts, and the distance of counts from a law, for tests of samplers.
#pragma once

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace geiger::sampling {

/// P(K >= k) for trials that succeed with `probability`.
inline double survival_at(std::uint64_t k, double probability) {
  return std::exp(static_cast<double>(k) * std::log1p(-probability));
}

/// P(K >= k) for the geometric law of an interval.
inline double survival(std::uint64_t k, std::uint64_t interval) {
  return survival_at(k, 1.0 / static_cast<double>(interval));
}

/// Deviation of binomial `hits` in standard errors.
inline double z_score(double hits, double trials, double probability) {
  const double variance = trials * probability * (1 - probability);
  return (hits - trials * probability) / std::sqrt(variance);
}

/// P(a chi-square variable with counts.size() - 1 degrees of freedom is larger).
inline double chi_square_p(const std::vector<double>& counts,
                           const std::vector<double>& probabilities) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double statistic = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return boost::math::gamma_q((static_cast<double>(counts.size()) - 1) / 2, statistic / 2);
}

/// Skip counts in about `wanted` bins of equal probability, as far as integers allow.
struct SkipBins {
  std::vector<std::uint64_t> starts{0};
  std::vector<double> probabilities;

  SkipBins(double probability, int wanted) {
    for (std::uint64_t k = 1; survival_at(starts.back(), probability) > 1.0 / wanted; ++k) {
      const double mass = survival_at(starts.back(), probability) - survival_at(k, probability);
      if (mass < 1.0 / wanted) continue;
      probabilities.push_back(mass);
      starts.push_back(k);
    }
    probabilities.push_back(survival_at(starts.back(), probability));
  }

  [[nodiscard]] std::size_t bin_of(std::uint64_t skip) const {
    return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), skip) -
                                    starts.begin() - 1);
  }
};

/// The law of the offset in a sampled object: the geometric law truncated at the size.
inline std::vector<double> offset_probabilities(std::uint64_t size, std::uint64_t interval) {
  std::vector<double> probabilities(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    probabilities[i] =
        (survival(i, interval) - survival(i + 1, interval)) / (1 - survival(size, interval));
  }
  return probabilities;
}

}  // namespace geiger::sampling
