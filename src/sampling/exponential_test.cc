#include "sampling/exponential.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sampling/samplers.h"

namespace geiger::sampling::exponential_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Distance from the 64-bit-mantissa reference in units of the last place.
double ulps(double x) {
  const long double reference = -std::expm1(-static_cast<long double>(x));
  const auto rounded = static_cast<double>(reference);
  const long double ulp = std::nextafter(rounded, kInfinity) - rounded;
  return static_cast<double>(std::abs(one_minus_exp(x) - reference) / ulp);
}

TEST(OneMinusExp, IsWithinTwoUlpEverywhere) {
  Xoshiro256pp generator(1);
  for (int i = 0; i < 500000; ++i) {
    const auto x = std::bit_cast<double>(generator.next() & 0x7fffffffffffffff);
    if (!std::isfinite(x)) continue;
    ASSERT_LE(ulps(x), 2.0) << x;
  }
}

TEST(OneMinusExp, IsWithinTwoUlpWhereItBends) {
  Xoshiro256pp generator(2);
  for (int i = 0; i < 500000; ++i) {
    const double u = static_cast<double>((generator.next() >> 11) + 1) * 0x1p-53;
    ASSERT_LE(ulps(u * 45), 2.0) << u * 45;
    ASSERT_LE(ulps(u), 2.0) << u;
  }
}

// At odd multiples of ln 2 / 2 the reduction changes to the next k.
TEST(OneMinusExp, IsWithinTwoUlpAtTheFolds) {
  for (int fold = 1; fold < 112; fold += 2) {
    double x = fold * std::log(2.0) / 2;
    for (int i = 0; i < 1000; ++i) x = std::nextafter(x, 0.0);
    for (int i = 0; i < 2000; ++i, x = std::nextafter(x, kInfinity)) ASSERT_LE(ulps(x), 2.0) << x;
  }
}

TEST(OneMinusExp, HasTheLimits) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(one_minus_exp(0.0)), 0U);
  EXPECT_EQ(one_minus_exp(kInfinity), 1.0);
  EXPECT_EQ(one_minus_exp(1e300), 1.0);
  EXPECT_EQ(one_minus_exp(std::numeric_limits<double>::denorm_min()),
            std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(one_minus_exp(-1.0)));
  EXPECT_TRUE(std::isnan(one_minus_exp(std::numeric_limits<double>::quiet_NaN())));
}

// A digest of 100,000 results, computed outside C++ (logarithm_test.cc).
TEST(OneMinusExp, IsTheSameToTheBitEverywhere) {
  Xoshiro256pp generator(5);
  std::uint64_t digest = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = static_cast<double>((generator.next() >> 11) + 1) * 0x1p-53;
    const double x = std::ldexp(u, i % 50 - 44);
    digest = std::rotl(digest, 13) ^ std::bit_cast<std::uint64_t>(one_minus_exp(x));
  }
  EXPECT_EQ(digest, 0x38ffa78434467fdU);
}

TEST(WeightedBytes, AreSizeOverInclusionProbability) {
  EXPECT_EQ(weighted_bytes(1, rate_of(2)), 2U);
  EXPECT_EQ(weighted_bytes(1, rate_of(524288)), 524288U);
  EXPECT_EQ(weighted_bytes(2, rate_of(2)), 3U);  // 2 / (3/4) = 2.67
  EXPECT_EQ(weighted_bytes(7, kInfinity), 7U);
  EXPECT_EQ(weighted_bytes(std::uint64_t{1} << 40, rate_of(4096)), std::uint64_t{1} << 40);
  EXPECT_EQ(weighted_bytes(1, rate_of(std::uint64_t{1} << 40)), std::uint64_t{1} << 40);
}

// Probability * weight = size for all sizes, which makes sums of weights unbiased.
TEST(WeightedBytes, AreUnbiasedUpToTheRounding) {
  for (const std::uint64_t interval : {2U, 1000U, 524288U}) {
    const double lambda = rate_of(interval);
    for (std::uint64_t size = 1; size < 3 * interval; size += 1 + interval / 500) {
      const double probability = one_minus_exp(lambda * static_cast<double>(size));
      const auto weight = static_cast<double>(weighted_bytes(size, lambda));
      ASSERT_NEAR(probability * weight, static_cast<double>(size), 0.5 * probability + 1e-6);
    }
  }
}

}  // namespace
}  // namespace geiger::sampling::exponential_test
