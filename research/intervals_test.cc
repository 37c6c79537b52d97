#include "research/intervals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimation/sums.h"

namespace geiger::research {
namespace {

TEST(NormalInterval, IsTheTextbooks) {
  EXPECT_NEAR(normal_quantile(0.95).value(), 1.959963984540054, 1e-14);
  const estimation::Interval found = normal_interval(100, 25, 0.95).value();
  EXPECT_NEAR(found.lo, 90.2001800772997, 1e-10);
  EXPECT_NEAR(found.hi, 109.7998199227003, 1e-10);
  EXPECT_EQ(normal_interval(3, 25, 0.95, 2).value().lo, 2);
  EXPECT_EQ(normal_quantile(1).error(), estimation::InputError::kLevel);
  EXPECT_EQ(normal_interval(std::nan(""), 1, 0.95).error(), estimation::InputError::kSize);
  EXPECT_EQ(normal_interval(1, -1, 0.95).error(), estimation::InputError::kSize);
}

// The share of outcomes s ~ Bin(count, pi) whose interval holds `count`.
double count_coverage(std::uint64_t count, Bytes size, double lambda, double level) {
  const double pi = estimation::inclusion_probability(size, lambda);
  const double missed = std::exp(-lambda * static_cast<double>(size));
  const auto n = static_cast<double>(count);
  double covered = 0;
  for (std::uint64_t s = 0; s <= count; ++s) {
    const auto k = static_cast<double>(s);
    const double log_choose = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
    const double probability = std::exp(log_choose + k * std::log(pi) + (n - k) * std::log(missed));
    const estimation::Interval found = same_size_objects_interval(s, size, lambda, level).value();
    if (found.lo <= n && n <= found.hi) covered += probability;
  }
  return covered;
}

TEST(SameSizeObjects, CoverForEveryCountAndSize) {
  const double lambda = estimation::rate_of_interval(1000);
  for (const Bytes size : {40U, 400U, 999U, 3000U, 8000U}) {
    for (const double level : {0.9, 0.99}) {
      for (std::uint64_t count = 0; count < 60; ++count) {
        EXPECT_GE(count_coverage(count, size, lambda, level), level - 1e-9)
            << size << ' ' << level << ' ' << count;
      }
    }
  }
}

TEST(SameSizeObjects, AreCountedWhereNoneCanBeMissed) {
  const estimation::Interval all =
      same_size_objects_interval(5, 100, estimation::rate_of_interval(1), 0.95).value();
  EXPECT_EQ(all.lo, 5);
  EXPECT_EQ(all.hi, 5);
  // Five of eight intervals each: one is missed with probability e^-8, all agree.
  EXPECT_EQ(
      same_size_objects_interval(5, 8000, estimation::rate_of_interval(1000), 0.95).value().hi, 5);
}

// No level, number or interval that passes gives anything but finite limits.
TEST(CampPaulsonInterval, StaysFiniteAtEveryExtreme) {
  for (const double level : {1e-300, 0.5, 1 - 0x1p-53}) {
    for (const double interval : {1.0, 1.0000001, 1e18}) {
      for (const std::uint64_t s : {1ULL, 1000ULL, 100000000ULL}) {
        const estimation::Interval rough = camp_paulson_interval(s, 1e9, interval, level).value();
        EXPECT_TRUE(rough.lo >= 1e9 && rough.lo <= rough.hi && std::isfinite(rough.hi));
      }
    }
  }
}

TEST(OtherIntervals, RefuseWhatHasNoAnswer) {
  for (const double level : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    EXPECT_EQ(camp_paulson_interval(1, 1, 2, level).error(), estimation::InputError::kLevel);
    EXPECT_EQ(same_size_objects_interval(1, 1, 1, level).error(), estimation::InputError::kLevel);
  }
  EXPECT_EQ(camp_paulson_interval(0, 0, 2, 0.95).error(), estimation::InputError::kCount);
  EXPECT_EQ(same_size_objects_interval(1, 0, 1, 0.95).error(), estimation::InputError::kSize);
}

}  // namespace
}  // namespace geiger::research
