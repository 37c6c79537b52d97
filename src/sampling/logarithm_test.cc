#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sampling/samplers.h"

namespace geiger::sampling::logarithm_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Distance from the 64-bit-mantissa reference in units of the last place.
double ulps(double value, long double reference) {
  const auto rounded = static_cast<double>(reference);
  const long double ulp = std::nextafter(std::abs(rounded), kInfinity) - std::abs(rounded);
  return static_cast<double>(std::abs(value - reference) / ulp);
}

double natural_log_ulps(double x) {
  return ulps(natural_log(x), std::log(static_cast<long double>(x)));
}

TEST(NaturalLog, IsWithinOneUlpOnTheSamplersDomain) {
  Xoshiro256pp generator(1);
  for (int i = 0; i < 500000; ++i) {
    const std::uint64_t k = generator.next() >> 11 >> (i % 53);  // Every binade of (0, 1].
    const double u = static_cast<double>(k + 1) * 0x1p-53;
    ASSERT_LE(natural_log_ulps(u), 1.0) << u;
  }
}

TEST(NaturalLog, IsWithinOneUlpEverywhere) {
  Xoshiro256pp generator(2);
  for (int i = 0; i < 500000; ++i) {
    const auto x = std::bit_cast<double>(generator.next() & 0x7fffffffffffffff);
    if (x == 0 || !std::isfinite(x)) continue;
    ASSERT_LE(natural_log_ulps(x), 1.0) << x;
  }
}

// The result passes through 0 here: catches an error that is relative to the parts, not the result.
TEST(NaturalLog, IsWithinOneUlpAroundOneAndAtTheFolds) {
  for (const double centre : {1.0, std::sqrt(0.5), std::sqrt(2.0), 0x1p-53, 0x1p-1022}) {
    double below = centre;
    double above = centre;
    for (int i = 0; i < 2000; ++i) {
      below = std::nextafter(below, 0.0);
      above = std::nextafter(above, kInfinity);
      ASSERT_LE(natural_log_ulps(below), 1.0) << below;
      ASSERT_LE(natural_log_ulps(above), 1.0) << above;
    }
  }
}

TEST(NaturalLog, HasTheLimits) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(natural_log(1.0)), 0U);
  EXPECT_EQ(natural_log(0.0), -kInfinity);
  EXPECT_EQ(natural_log(-0.0), -kInfinity);
  EXPECT_EQ(natural_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(natural_log(-1.0)));
  EXPECT_TRUE(std::isnan(natural_log(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_LE(natural_log_ulps(std::numeric_limits<double>::denorm_min()), 1.0);
  EXPECT_LE(natural_log_ulps(std::numeric_limits<double>::max()), 1.0);
}

// A digest of 100,000 results, computed outside C++: fails if a compiler fuses or reorders
// operations, so that one seed would give two sets of samples.
TEST(NaturalLog, IsTheSameToTheBitEverywhere) {
  Xoshiro256pp generator(3);
  std::uint64_t digest = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = static_cast<double>((generator.next() >> 11) + 1) * 0x1p-53;
    digest = std::rotl(digest, 13) ^ std::bit_cast<std::uint64_t>(natural_log(u));
  }
  EXPECT_EQ(digest, 0x471710f106f6167cU);
}

TEST(RateOf, IsWithinThreeUlpForEveryInterval) {
  Xoshiro256pp generator(4);
  for (std::uint64_t interval = 2; interval < 100000; ++interval) {
    ASSERT_LE(ulps(rate_of(interval), -std::log1p(-1.0L / interval)), 3.0) << interval;
  }
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t interval = (generator.next() >> (i % 60)) | 2;
    ASSERT_LE(ulps(rate_of(interval), -std::log1p(-1.0L / interval)), 3.0) << interval;
  }
}

// Catches log(1 - p), whose relative error is 3e-8 at 2^30 and 100 % at 2^54.
TEST(RateOf, KeepsItsDigitsWhereOneMinusPLosesThem) {
  EXPECT_DOUBLE_EQ(rate_of(std::uint64_t{1} << 54), 0x1p-54);
  EXPECT_DOUBLE_EQ(rate_of(std::numeric_limits<std::uint64_t>::max()), 0x1p-64);
  EXPECT_DOUBLE_EQ(rate_of(2), std::log(2.0));
}

TEST(RateOf, IsInfiniteWhereEveryByteIsDrawn) {
  EXPECT_EQ(rate_of(1), kInfinity);
  EXPECT_EQ(rate_of(0), kInfinity);
}

// p = 1/T gives both rates; other probabilities against long double.
TEST(RateOfProbability, IsWithinThreeUlpForEveryProbability) {
  Xoshiro256pp generator(5);
  for (int i = 0; i < 200000; ++i) {
    const double fraction = static_cast<double>((generator.next() >> 11) + 1) * 0x1p-53;
    const double probability = std::ldexp(fraction, -(i % 1000));
    if (probability >= 1) continue;
    const auto exact = static_cast<long double>(probability);
    ASSERT_LE(ulps(rate_of_probability(probability), -std::log1p(-exact)), 3.0) << probability;
  }
  EXPECT_EQ(rate_of_probability(0), 0);
  EXPECT_EQ(rate_of_probability(1), kInfinity);
  EXPECT_DOUBLE_EQ(rate_of_probability(0.5), rate_of(2));
}

}  // namespace
}  // namespace geiger::sampling::logarithm_test
