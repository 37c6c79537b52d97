// For tests only: the distance of the samples from their expectation.
#pragma once

#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace geiger::sampling {

/// Independent trials with their expectation.
struct Score {
  double excess = 0, variance = 0;

  void add(bool is_hit, double probability) {
    excess += is_hit - probability;
    variance += probability * (1 - probability);
  }
  void add(const Score& other) {
    excess += other.excess;
    variance += other.variance;
  }
  [[nodiscard]] double z() const { return excess / std::sqrt(variance); }
};

/// As spread as squares of standard normal variables; false-alarm probability: 2e-6.
inline void expect_chi_square(double statistic, double freedom, const char* what) {
  EXPECT_GT(boost::math::gamma_q(freedom / 2, statistic / 2), 1e-6) << what << ": " << statistic;
  EXPECT_GT(boost::math::gamma_p(freedom / 2, statistic / 2), 1e-6) << what << ": " << statistic;
}

}  // namespace geiger::sampling
