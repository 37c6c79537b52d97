// Seeds are fixed. A right sampler fails one of these checks with probability
// below 1e-6 for a fresh seed; wrong ones are chosen so that they cannot pass.
#include "estimation/distributions/uniformity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "estimation/sums.h"

namespace geiger::estimation::uniformity_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An independent formula: the distribution function of Anderson and Darling (1954), integrated with
// 20,000 steps. 1.933, 2.492 and 3.878 are the critical values at 10, 5 and 1 % that tables print.
TEST(AndersonDarlingTail, AgreesWithItsAuthorsFormula) {
  for (const auto& [x, p] : {std::pair{.2, .9904125472497942},
                             {.5, .746814373530349},
                             {1.0, .35726667321403316},
                             {1.248, .24995050435201616},
                             {1.933, .0999946232082396},
                             {2.492, .05002218635962541},
                             {3.8781, .010000282155476437},
                             {6.0, .0009674519415284744}}) {
    EXPECT_NEAR(anderson_darling_tail(x), p, 1e-12) << x;
  }
}

// A^2 is the sum of Z_j^2 / (j (j + 1)): mean 1, variance 2 (pi^2 / 3 - 3).
TEST(AndersonDarlingTail, HasTheMomentsOfTheLaw) {
  double mean = 0, second = 0;
  constexpr double kStep = 1.0 / 512;
  for (double x = kStep / 2; x < 60; x += kStep) {
    const double tail = anderson_darling_tail(x);
    mean += kStep * tail;
    second += kStep * 2 * x * tail;
  }
  EXPECT_NEAR(mean, 1, 1e-6);
  EXPECT_NEAR(second - mean * mean, 2 * (M_PI * M_PI / 3 - 3), 1e-5);
}

// Far out the first of the weighted squares alone decides: sqrt(3) erfc(sqrt x).
TEST(AndersonDarlingTail, KeepsItsDigitsFarOut) {
  for (const double x : {50.0, 200.0, 600.0}) {
    const double leading = std::sqrt(3.0) * std::erfc(std::sqrt(x));
    EXPECT_NEAR(anderson_darling_tail(x) / leading, 1, 1 / x) << x;
    EXPECT_GT(anderson_darling_tail(x), 0);
  }
  double last = 1;
  for (double x = -1; x < 30; x += 0.01) {
    const double tail = anderson_darling_tail(x);
    ASSERT_LE(tail, last * (1 + 1e-12)) << x;
    last = tail;
  }
  EXPECT_EQ(anderson_darling_tail(std::nan("")), 1);
  EXPECT_EQ(anderson_darling_tail(kInfinity), 0);
}

TEST(OffsetPosition, IsTheDistributionFunctionOfTheOffset) {
  const double lambda = rate_of_interval(8);
  double below = 0;
  for (std::uint64_t offset = 0; offset < 20; ++offset) {
    EXPECT_NEAR(offset_position(20, offset, lambda, 0), below, 1e-14);
    below +=
        std::exp(-lambda * static_cast<double>(offset)) * 0.125 / inclusion_probability(20, lambda);
  }
  EXPECT_LT(offset_position(20, 19, lambda, std::nextafter(1.0, 0.0)), 1);
  EXPECT_NEAR(offset_position(1000, 500, 1e-12, 0), 0.5, 1e-9);
}

TEST(OffsetPosition, IsBeyondOneForWhatCannotBe) {
  EXPECT_GE(offset_position(20, 20, 0.1, 0), 1);
  EXPECT_GE(offset_position(0, 0, 0.1, 0), 1);
  EXPECT_GE(offset_position(20, 0, 0, 0), 1);
  EXPECT_GE(offset_position(20, 0, std::nan(""), 0), 1);
  EXPECT_GE(offset_position(20, 0, 0.1, 1), 1);
  EXPECT_GE(offset_position(20, 0, 0.1, std::nan("")), 1);
  EXPECT_EQ(offset_position(20, 0, kInfinity, 0.25), 0.25);
  EXPECT_GE(offset_position(20, 1, kInfinity, 0.25), 1);
}

// How a sampler, right or wrong, turns a skip into an offset.
using Offset = std::function<std::uint64_t(std::uint64_t skip, Bytes size)>;

// Samples of objects with the sizes of `sizes` in turn, drawn at `interval`.
OffsetReport check(std::initializer_list<Bytes> sizes, double interval, int samples,
                   std::uint64_t seed, const Offset& offset) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform;
  const double lambda = rate_of_interval(interval);
  OffsetCheck collected;
  for (int i = 0; i < samples; ++i) {
    const Bytes size = sizes.begin()[i % sizes.size()];
    // A skip given that it is below the size.
    const double u = uniform(generator) * inclusion_probability(size, lambda);
    const auto skip = static_cast<std::uint64_t>(-std::log1p(-u) / lambda);
    collected.add(size, offset(std::min(skip, size - 1), size), lambda, uniform(generator));
  }
  return collected.report();
}

std::uint64_t right(std::uint64_t skip, Bytes) { return skip; }

TEST(OffsetCheck, PassesARightSampler) {
  for (const double interval : {2.0, 8.0, 64.0, 1024.0, 524288.0}) {
    const OffsetReport report = check({1, 16, 48, 1000}, interval, 20000, 3, right);
    EXPECT_FALSE(report.has_failed()) << interval;
    EXPECT_GT(report.p_value(), 1e-4) << interval;
    EXPECT_EQ(report.samples, 20000U);
    EXPECT_EQ(report.bins, 64U);
  }
}

// 4,000 recordings: the share with p below 1 %, 10 % is at most that (the four
// tests are put together by Bonferroni) plus 5 sigma.
TEST(OffsetCheck, KeepsItsLevel) {
  constexpr int kRecordings = 4000;
  for (const int samples : {12, 250, 1000}) {
    int below_1 = 0, below_10 = 0;
    for (int i = 0; i < kRecordings; ++i) {
      const double p = check({16, 300}, 4096, samples, 1000 + i, right).p_value();
      below_1 += p < 0.01;
      below_10 += p < 0.1;
    }
    EXPECT_LT(below_1, kRecordings * 0.01 + 5 * std::sqrt(kRecordings * 0.01)) << samples;
    EXPECT_LT(below_10, kRecordings * 0.1 + 5 * std::sqrt(kRecordings * 0.09)) << samples;
    EXPECT_GT(below_10, 0) << samples;
  }
}

TEST(OffsetCheck, SeesOffsetsShiftedByOne) {
  const auto late = [](std::uint64_t skip, Bytes) { return skip + 1; };
  EXPECT_GT(check({16}, 524288, 100, 5, late).impossible, 0U);
  EXPECT_TRUE(check({16}, 524288, 100, 5, late).has_failed());
  const auto early = [](std::uint64_t skip, Bytes) { return skip == 0 ? 0 : skip - 1; };
  const OffsetReport report = check({64}, 524288, 3000, 5, early);
  EXPECT_EQ(report.impossible, 0U);
  EXPECT_TRUE(report.has_failed());
  EXPECT_LT(report.last_byte.p_value, 1e-6);
}

TEST(OffsetCheck, SeesOffsetsThatAreNotDrawn) {
  const auto zero = [](std::uint64_t, Bytes) { return std::uint64_t{0}; };
  EXPECT_TRUE(check({16}, 524288, 40, 5, zero).has_failed());
  const auto middle = [](std::uint64_t, Bytes size) { return size / 2; };
  EXPECT_TRUE(check({1000}, 524288, 100, 5, middle).has_failed());
}

// Positions right on the whole and wrong in detail: every other byte is never
// drawn. Only the bins see it, the larger the object the fewer.
TEST(OffsetCheck, SeesCombs) {
  const auto even = [](std::uint64_t skip, Bytes) { return skip & ~std::uint64_t{1}; };
  const OffsetReport report = check({32}, 524288, 2000, 5, even);
  EXPECT_TRUE(report.has_failed());
  EXPECT_LT(report.chi_square.p_value, 1e-6);
}

// Objects of several T, as in pure mode: uniform offsets would be wrong there.
TEST(OffsetCheck, SeesUniformOffsetsWhereTheyAreNot) {
  std::mt19937_64 generator(9);
  const auto uniform = [&](std::uint64_t, Bytes size) { return generator() % size; };
  const OffsetReport report = check({2048}, 1024, 1000, 5, uniform);
  EXPECT_TRUE(report.has_failed());
  EXPECT_LT(report.anderson_darling.p_value, 1e-6);
  EXPECT_FALSE(check({2048}, 1024, 1000, 5, right).has_failed());
}

TEST(TestCount, IsThePoissonTail) {
  EXPECT_NEAR(test_count(0, 5).p_value, 2 * std::exp(-5.0), 1e-15);
  EXPECT_NEAR(test_count(3, 0.1).p_value, 2 * (1 - std::exp(-0.1) * (1 + 0.1 + 0.005)), 1e-15);
  EXPECT_NEAR(test_count(1000400, 1e6).p_value, std::erfc(0.4 / std::sqrt(2.0)), 1e-3);
  EXPECT_EQ(test_count(5, 5).statistic, 0);
  EXPECT_EQ(test_count(5, 0).p_value, 1);
  EXPECT_EQ(test_count(5, std::nan("")).p_value, 1);
  EXPECT_EQ(test_count(5, kInfinity).p_value, 1);
}

TEST(OffsetCheck, SaysNothingOfNothing) {
  const OffsetReport report = OffsetCheck().report();
  EXPECT_EQ(report.samples, 0U);
  EXPECT_EQ(report.p_value(), 1);
  EXPECT_FALSE(report.has_failed());
}

}  // namespace
}  // namespace geiger::estimation::uniformity_test
