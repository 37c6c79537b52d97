#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "estimation/estimate.h"
#include "estimation/planning.h"
#include "estimation/sums.h"

namespace geiger::estimation::precision_test {
namespace {

// The interval of small objects itself, as a report would print it.
double wider_side(std::uint64_t samples, double level) {
  NodeSums sums;
  sums.add(1, rate_of_interval(1 << 30), samples);
  const Estimate estimate = estimate_bytes(sums, level);
  return (estimate.interval.hi - estimate.value) / estimate.value;
}

TEST(Precision, IsTheWiderSideOfTheInterval) {
  for (const std::uint64_t samples : {1U, 10U, 100U, 1000U, 1000000U}) {
    for (const double level : {0.5, 0.95, 0.999}) {
      EXPECT_NEAR(precision_of(static_cast<double>(samples), level) / wider_side(samples, level), 1,
                  1e-6);
    }
  }
}

TEST(Precision, IsInvertedToSamples) {
  for (const double precision : {0.001, 0.05, 0.5, 4.0}) {
    const double samples = samples_for_precision(precision, 0.95).value();
    EXPECT_NEAR(precision_of(samples, 0.95), precision, 1e-9 * precision);
  }
  EXPECT_NEAR(samples_for_precision(0.22, 0.95).value(), 96, 2);
}

TEST(Precision, RefusesWhatCannotBe) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(samples_for_precision(bad, 0.95).has_value()) << bad;
  }
  for (const double bad : {0.0, 1.0, std::nan("")}) {
    EXPECT_FALSE(samples_for_precision(0.1, bad).has_value()) << bad;
  }
  EXPECT_TRUE(std::isinf(precision_of(0, 0.95)));
  EXPECT_TRUE(std::isinf(precision_of(std::nan(""), 0.95)));
}

TEST(LateLeak, TheSmallestOneTakesTheTime) {
  for (const double others : {0.0, 1e3, 1e6}) {
    for (const double interval : {4096.0, 524288.0}) {
      const double leak = leak_found_in(30, others, interval);
      EXPECT_LE(seconds_to_find_leak(leak, others, interval), 30 * (1 + 1e-12));
      EXPECT_GE(leak, 20 * interval / 30);  // Never from fewer samples.
      EXPECT_LE(leak_found_in(120, others, interval), leak / 2 * (1 + 1e-12));
    }
  }
  EXPECT_NEAR(leak_found_in(30, 1e6, 16384), 3.06 * std::sqrt(2 * 1e6 * 16384 / 30), 1);
}

TEST(RoundInterval, IsEasilySaidAndNeverLarger) {
  EXPECT_EQ(round_interval(0.5), 1);
  EXPECT_EQ(round_interval(std::nan("")), 1);
  EXPECT_EQ(round_interval(1000.9), 1000);
  EXPECT_EQ(round_interval(1024), 1024);
  EXPECT_EQ(round_interval(327680), 320 * 1024);
  EXPECT_EQ(round_interval(340000), 320 * 1024);
  EXPECT_EQ(round_interval(1048575), 896 * 1024);
}

}  // namespace
}  // namespace geiger::estimation::precision_test
