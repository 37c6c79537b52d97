#include "estimation/distributions/gamma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace geiger::estimation::gamma_test {
namespace {

TEST(GammaQuantile, GivesTheReferenceQuantiles) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  for (const auto& row : vectors["gamma_quantile"]) {
    const double shape = row["shape"], p = row["p"], x = row["x"];
    EXPECT_NEAR(gamma_quantile(shape, p), x, 1e-11 * x) << row;
    const Gamma law{shape * 3, std::sqrt(shape) * 3};  // Scale 3.
    EXPECT_NEAR(law.lower_quantile(p), 3 * x, 1e-11 * 3 * x) << row;
    EXPECT_NEAR(law.upper_quantile(1 - p), 3 * x, 1e-10 * 3 * x) << row;
  }
}

// Shape 1 is the exponential law: everything has a closed form.
TEST(Gamma, IsTheExponentialForEqualMeanAndDeviation) {
  const Gamma law{5, 5};
  for (const double p : {1e-15, 0.005, 0.5, 0.9}) {
    EXPECT_NEAR(law.upper_quantile(p), -5 * std::log(p), 1e-12 * -5 * std::log(p));
    EXPECT_NEAR(law.lower_quantile(p), -5 * std::log1p(-p), 1e-12 * -5 * std::log1p(-p));
  }
  EXPECT_NEAR(law.below(2), -std::expm1(-0.4), 1e-15);
  EXPECT_NEAR(law.above(2), std::exp(-0.4), 1e-15);
}

TEST(Gamma, IsConstantWithoutDeviation) {
  const Gamma law{7, 0};
  EXPECT_EQ(law.lower_quantile(0.025), 7);
  EXPECT_EQ(law.upper_quantile(0.025), 7);
  EXPECT_EQ(law.below(6.9), 0);
  EXPECT_EQ(law.below(7), 1);
  EXPECT_EQ(Gamma{}.upper_quantile(0.025), 0);
}

// The two methods meet at shape 1e7.
TEST(Gamma, IsContinuousWhereTheMethodChanges) {
  for (const double p : {0.0005, 0.025, 0.4}) {
    const Gamma below{1e7 * (1 - 1e-15), std::sqrt(1e7)};
    const Gamma above{1e7 * (1 + 1e-14), std::sqrt(1e7)};
    EXPECT_NEAR(below.lower_quantile(p) / above.lower_quantile(p), 1, 1e-11) << p;
    EXPECT_NEAR(below.upper_quantile(p) / above.upper_quantile(p), 1, 1e-11) << p;
    const double x = below.lower_quantile(p);
    EXPECT_NEAR(above.below(x), p, 1e-7 * p) << p;
    EXPECT_NEAR(above.above(x), 1 - p, 1e-7) << p;
  }
  const Gamma huge{1e20, 1e8};
  EXPECT_NEAR((huge.upper_quantile(0.025) - 1e20) / 1e8, 1.96, 1e-3);
}

// Shapes from 0 to infinity, scales that overflow: quantiles stay finite, in
// order, and within Markov's bound.
TEST(Gamma, StaysFiniteAndOrderedForEveryFiniteLaw) {
  for (double mean = 1e-300; mean < 1e301; mean *= 1e20) {
    for (double deviation = 1e-300; deviation < 1e301; deviation *= 1e20) {
      const Gamma law{mean, deviation};
      const double low = law.lower_quantile(0.025);
      const double high = law.upper_quantile(0.025);
      ASSERT_TRUE(std::isfinite(low) && std::isfinite(high)) << mean << ' ' << deviation;
      ASSERT_LE(0, low);
      ASSERT_LE(low, high);
      ASSERT_LE(high, mean / 0.025 * (1 + 1e-12));
      ASSERT_FALSE(std::isnan(law.below(mean))) << mean << ' ' << deviation;
      ASSERT_FALSE(std::isnan(law.above(mean))) << mean << ' ' << deviation;
    }
  }
}

}  // namespace
}  // namespace geiger::estimation::gamma_test
