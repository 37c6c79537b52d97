// Seeds are fixed. Bounds leave 5 standard errors (probability 6e-7 each for a fresh seed).
#include "research/schemes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace geiger::research {
namespace {

constexpr TableSettings kSettings{.replicates = 2000};

SchemeTally of(Pattern pattern, Scheme scheme, double samples) {
  SchemeTally all;
  for (std::uint64_t block = 0; block < blocks_of(kSettings); ++block) {
    all.merge(
        simulate_pattern(kSettings, pattern, samples, block)[static_cast<std::size_t>(scheme)]);
  }
  EXPECT_EQ(all.intervals.counted, kSettings.replicates);
  return all;
}

TEST(Schemes, BernoulliHoldsInEveryPattern) {
  for (std::size_t i = 0; i < kPatterns; ++i) {
    for (const double samples : {1.0, 10.0, 100.0}) {
      const SchemeTally tally = of(static_cast<Pattern>(i), Scheme::kBernoulli, samples);
      EXPECT_GT(tally.intervals.coverage_interval(1 - 6e-7).hi, 0.95) << i << ' ' << samples;
      // The error of a Poisson count, averaged over the replicates: E[1/x] of x even in
      // 0.65 to 1.35 is ln(1.35/0.65)/0.7. The mean square of a count scatters by sqrt(2/n).
      const double expected = std::log(1.35 / 0.65) / 0.7 / samples;
      EXPECT_NEAR(tally.error() * tally.error(), expected, expected * 0.16 * (1 + 1 / samples))
          << i << ' ' << samples;
    }
  }
}

// A stride that the period divides meets the same object for ever: all samples or none are
// the site's, four times its bytes or nothing, and more samples do not help.
TEST(Schemes, AFixedStrideIsBlindToItsOwnPeriod) {
  for (const Pattern pattern : {Pattern::kEveryFourth, Pattern::kQuarterOfT}) {
    for (const double samples : {10.0, 100.0}) {
      const SchemeTally tally = of(pattern, Scheme::kFixed, samples);
      EXPECT_EQ(tally.intervals.coverage(), 0) << samples;
      // 3 with a quarter of the chance, else -1: sqrt(3).
      EXPECT_NEAR(tally.error(), std::sqrt(3), 0.15) << samples;
    }
  }
}

TEST(Schemes, AFixedStrideIsRightAboutWhatHasNoOrder) {
  const SchemeTally tally = of(Pattern::kShuffled, Scheme::kFixed, 100);
  EXPECT_GT(tally.intervals.coverage(), 0.95);
  EXPECT_LT(tally.error(), of(Pattern::kShuffled, Scheme::kBernoulli, 100).error());
}

TEST(Schemes, JitterHelpsAgainstShortPeriodsOnly) {
  EXPECT_GT(of(Pattern::kEveryFourth, Scheme::kJittered, 100).intervals.coverage(), 0.95);
  EXPECT_LT(of(Pattern::kQuarterOfT, Scheme::kJittered, 10).intervals.coverage(), 0.6);
}

}  // namespace
}  // namespace geiger::research
