#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "estimation/scatter.h"

namespace geiger::estimation::growth_test {
namespace {

// Changes 1, 2, 3 in equal times: mean 2, deviation 1, t = 2 / (1 / sqrt 3) on 2 degrees
// of freedom, P(T > t) = (1 - t / sqrt(2 + t^2)) / 2.
TEST(Trend, IsStudentsForEqualTimes) {
  const Trend trend = trend_of(std::vector<Change>{{1, 1}, {1, 2}, {1, 3}}, 0.95);
  const double t = 2 * std::sqrt(3.0);
  EXPECT_EQ(trend.value, 6);
  EXPECT_NEAR(trend.p_value, (1 - t / std::sqrt(2 + t * t)) / 2, 1e-12);
  // t(0.975; 2) = 4.302653 standard errors of sqrt 3 each.
  EXPECT_NEAR(trend.interval.hi - 6, 4.3026527297 * std::sqrt(3.0), 1e-8);
  EXPECT_NEAR(6 - trend.interval.lo, 4.3026527297 * std::sqrt(3.0), 1e-8);
}

TEST(Trend, IsTheSameInOtherUnits) {
  const std::vector<Change> changes{{1, 5}, {2, 7}, {0.5, -1}, {3, 11}};
  std::vector<Change> other = changes;
  for (Change& change : other) change = {change.length * 1e9, change.value * 1024};
  EXPECT_NEAR(trend_of(changes, 0.9).p_value, trend_of(other, 0.9).p_value, 1e-12);
  EXPECT_NEAR(trend_of(changes, 0.9).interval.lo * 1024, trend_of(other, 0.9).interval.lo, 1e-6);
}

TEST(Trend, SaysNothingOfTooLittle) {
  EXPECT_EQ(trend_of({}, 0.95).p_value, 1);
  EXPECT_EQ(trend_of(std::vector<Change>{{1, 100}}, 0.95).p_value, 1);
  EXPECT_EQ(trend_of(std::vector<Change>{{1, -1}, {1, -1}, {1, -1}}, 0.95).p_value, 1);
  EXPECT_EQ(trend_of(std::vector<Change>{{1, 0}, {1, 0}}, 0.95).p_value, 1);
  // Growth as even as this has no scatter at all.
  EXPECT_EQ(trend_of(std::vector<Change>{{1, 3}, {2, 6}, {1, 3}}, 0.95).p_value, 0);
}

TEST(Trend, IsNoneWhereOneStretchHasItAll) {
  std::vector<Change> steady(12, Change{1, 10});
  for (std::size_t i = 0; i < steady.size(); ++i) steady[i].value += static_cast<double>(i % 3);
  EXPECT_LT(steady_growth_p(steady), 1e-6);
  std::vector<Change> bursts(12, Change{1, 0});
  bursts[4].value = 100;
  EXPECT_GT(steady_growth_p(bursts), 0.1);
  bursts[7].value = 100;
  EXPECT_GT(steady_growth_p(bursts), 0.1);
}

TEST(Trend, IsNeverNan) {
  std::mt19937_64 generator(1);
  const double values[] = {0,    1,      -1,    1e-300, 1e300,
                           1e90, -1e149, 0.125, NAN,    std::numeric_limits<double>::infinity()};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  for (int i = 0; i < 20000; ++i) {
    std::vector<Change> changes(generator() % 5);
    for (Change& change : changes) change = {any(), any()};
    const Trend trend = trend_of(changes, any());
    ASSERT_TRUE(trend.p_value >= 0 && trend.p_value <= 1) << i;
    ASSERT_TRUE(std::isfinite(trend.value)) << i;
    ASSERT_TRUE(trend.interval.lo <= trend.value && trend.value <= trend.interval.hi) << i;
    const double p = steady_growth_p(changes);
    ASSERT_TRUE(p >= trend.p_value && p <= 1) << i;
  }
}

// The test is exact for random walks: its rate of alarms is its level. 4,000 walks with a fixed
// seed; four standard errors.
TEST(Trend, KeepsItsLevelOnRandomWalks) {
  constexpr int kWalks = 4000;
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  int alarms = 0;
  for (int i = 0; i < kWalks; ++i) {
    std::vector<Change> changes;
    for (int j = 0; j < 12; ++j) {
      const double length = 0.5 + (j * 5 % 12) / 12.0;
      changes.push_back({length, normal(generator) * std::sqrt(length)});
    }
    alarms += trend_of(changes, 0.95).p_value <= 0.05;
  }
  EXPECT_NEAR(alarms, 0.05 * kWalks, 4 * std::sqrt(0.05 * 0.95 * kWalks));
}

}  // namespace
}  // namespace geiger::estimation::growth_test
