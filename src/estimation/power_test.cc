#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "estimation/planning.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::power_test {
namespace {

constexpr double kT = 524288;

struct Tabulated {
  double change, alpha, power, samples;
};

// Reference values by enumeration of the mid-p test.
constexpr Tabulated kTable[] = {
    {0.01, 0.05, 0.8, 157800}, {0.01, 0.05, 0.95, 261200}, {0.01, 1e-4, 0.8, 450100},
    {0.05, 0.05, 0.8, 6435},   {0.05, 0.05, 0.95, 10650},  {0.05, 1e-4, 0.8, 18360},
    {0.1, 0.05, 0.8, 1648},    {0.1, 0.05, 0.95, 2727},    {0.1, 1e-4, 0.8, 4700},
    {0.2, 0.05, 0.8, 431},     {0.2, 0.05, 0.95, 714},     {0.2, 1e-4, 0.8, 1230},
    {0.5, 0.05, 0.8, 78},      {0.5, 0.05, 0.95, 129},     {0.5, 1e-4, 0.8, 222},
    {-0.05, 0.05, 0.8, 6121},  {-0.05, 0.05, 0.95, 10130}, {-0.05, 1e-4, 0.8, 17460},
    {-0.1, 0.05, 0.8, 1491},   {-0.1, 0.05, 0.95, 2468},   {-0.1, 1e-4, 0.8, 4252}};

constexpr Tabulated kMultiples[] = {{1, 0.05, 0.8, 23},  {1, 0.05, 0.95, 38},  {1, 1e-4, 0.8, 66},
                                    {2, 0.05, 0.8, 7.6}, {2, 0.05, 0.95, 12},  {2, 1e-4, 0.8, 21},
                                    {4, 0.05, 0.8, 2.7}, {4, 0.05, 0.95, 4.4}, {4, 1e-4, 0.8, 7.7}};

TEST(SamplesNeeded, GivesTheReferenceTable) {
  for (const Tabulated& row : kTable) {
    const double samples = samples_needed(row.change, row.alpha, row.power).value();
    EXPECT_NEAR(samples / row.samples, 1, 0.03) << row.change << " " << row.alpha;
  }
  for (const Tabulated& row : kMultiples) {
    const double ratio = samples_needed(row.change, row.alpha, row.power).value() / row.samples;
    EXPECT_GT(ratio, 0.99) << row.change;
    EXPECT_LT(ratio, 1.12) << row.change;
  }
}

// Calls visit(n, P(n)) for a Poisson law without its improbable tails.
template <typename Visit>
void for_each_poisson(double mean, const Visit& visit) {
  const double reach = 6 * std::sqrt(mean) + 6;
  for (auto n = static_cast<std::uint64_t>(std::max(0.0, mean - reach));
       static_cast<double>(n) < mean + reach; ++n) {
    const auto x = static_cast<double>(n);
    visit(n, std::exp(x * std::log(mean) - mean - std::lgamma(x + 1)));
  }
}

// P(p_value <= alpha) of the test itself, over all pairs of counts of tiny objects.
double power_of_test(double samples, double change, double alpha) {
  double power = 0;
  for_each_poisson(samples, [&](std::uint64_t a, double pa) {
    for_each_poisson(samples * (1 + change), [&](std::uint64_t b, double pb) {
      if (pa * pb < 1e-9) return;
      const Difference d = difference({.sums = tiny(a, kT)}, {.sums = tiny(b, kT)}, 0.95);
      if (d.p_value <= alpha) power += pa * pb;
    });
  });
  return power;
}

// Counts are integers, so the power moves in steps, large ones for few samples.
TEST(SamplesNeeded, GivesTheTestItsPower) {
  for (const double change : {0.5, 1.0, 2.0, 4.0, -0.5, -0.9}) {
    for (const double power : {0.8, 0.95}) {
      const double samples = samples_needed(change, 0.05, power).value();
      const double found = power_of_test(samples, change, 0.05);
      EXPECT_GT(found, power - 0.02) << change;
      EXPECT_LT(found, power + 0.07) << change;
    }
  }
}

// `detectable` is computed from the counts seen; at the expected counts it must be a growth that
// the test finds in 80 % of cases, also from 0.
TEST(Detectable, IsFoundWithEightyPercent) {
  for (const std::uint64_t samples : {0U, 3U, 10U, 50U, 200U}) {
    const Side side{.sums = tiny(samples, kT)};
    const double growth = difference(side, side, 0.95).detectable / kT;
    const auto before = std::max(static_cast<double>(samples), 1e-9);
    const double found = power_of_test(before, growth / before, 0.05);
    EXPECT_GT(found, 0.77) << samples;
    EXPECT_LT(found, samples == 0 ? 0.9 : 0.86) << samples;
  }
}

// A sampled byte represents T bytes; objects of T bytes are certain.
TEST(SampledObject, IsOffByWhatItStandsFor) {
  EXPECT_NEAR(error_of_sampled_object(1, 1024), 1023, 1e-9);
  EXPECT_NEAR(error_of_sampled_object(2, 4), 9.0 / 7, 1e-12);  // pi = 1 - (3/4)^2
  EXPECT_GT(error_of_sampled_object(1023, 1024), 0.58);
  EXPECT_EQ(error_of_sampled_object(1024, 1024), 0);
  EXPECT_EQ(error_of_sampled_object(1, 1), 0);
}

TEST(SamplesNeeded, RefusesWhatIsNoQuestion) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double change : {0.0, -1.0, -2.0, nan, inf, -inf, 1e-300}) {
    EXPECT_FALSE(samples_needed(change, 0.05, 0.8)) << change;
  }
  for (const double p : {0.0, 1.0, -0.1, 1.1, nan}) {
    EXPECT_FALSE(samples_needed(0.1, p, 0.8)) << p;
    EXPECT_FALSE(samples_needed(0.1, 0.05, p)) << p;
  }
  EXPECT_FALSE(samples_needed(0.1, 0.5, 0.4));
}

TEST(ChanceToSee, IsExponential) {
  EXPECT_NEAR(chance_to_see(3 * kT, kT), 1 - std::exp(-3), 1e-6);
  EXPECT_NEAR(chance_to_see(1.75 * kT, kT), 0.8262, 1e-4);
  EXPECT_EQ(chance_to_see(1, 1), 1);
  EXPECT_EQ(chance_to_see(0, 64), 0);
  EXPECT_EQ(chance_to_see(std::nan(""), 64), 0);
  EXPECT_DOUBLE_EQ(chance_to_see(1, 64), 1.0 / 64);
}

TEST(ExpectedRecording, IsThatOfTheEstimator) {
  const Objects node[] = {{16, 65536}, {kT / 2, 10}, {2 * kT, 3}, {0, 7}, {100, -1}};
  const Expected as_recorded = expected(node, kT, false);
  EXPECT_EQ(as_recorded.certain, 3);
  EXPECT_EQ(as_recorded.chance, 1);
  EXPECT_NEAR(as_recorded.samples, 2 + 10 * (1 - std::exp(-0.5)), 1e-4);
  const double half = 1 - std::exp(-0.5);
  const double variance = 2 + 10 * 0.25 * (1 - half) / half;
  EXPECT_NEAR(as_recorded.relative_error, std::sqrt(variance) / 13, 1e-4);
  const Expected pure = expected(node, kT, true);
  EXPECT_EQ(pure.certain, 0);
  EXPECT_NEAR(pure.chance, 1 - std::exp(-13), 1e-9);
  EXPECT_GT(pure.relative_error, as_recorded.relative_error);
  const Expected complete = expected(node, 1, true);
  EXPECT_EQ(complete.relative_error, 0);
  EXPECT_EQ(complete.certain, 65549);
  EXPECT_EQ(expected({}, kT, false).relative_error, 0);
  EXPECT_EQ(expected(node, std::nan(""), false).relative_error, 0);
}

TEST(EffortToDecide, ScalesTheReachOfTheInterval) {
  const Growth growth{.value = 0.1, .lowest = 0.0, .highest = 0.25};
  EXPECT_EQ(effort_to_decide(growth, -0.1, 0.95, 0.8), 1);
  EXPECT_EQ(effort_to_decide(growth, 0.3, 0.95, 0.8), 1);
  EXPECT_FALSE(effort_to_decide(growth, 0.1, 0.95, 0.8));
  EXPECT_FALSE(effort_to_decide({.value = {}, .lowest = -1, .highest = {}}, 0.1, 0.95, 0.8));
  // Twice as near: four times the samples.
  const double near = effort_to_decide(growth, 0.08, 0.95, 0.8).value();
  const double far = effort_to_decide(growth, 0.06, 0.95, 0.8).value();
  EXPECT_NEAR(near, 4 * far, 1e-9);
  // At 50 % power it is the plain square: the reach .1 over the distance .04.
  EXPECT_NEAR(effort_to_decide(growth, 0.06, 0.95, 0.5).value(), 6.25, 1e-9);
}

}  // namespace
}  // namespace geiger::estimation::power_test
