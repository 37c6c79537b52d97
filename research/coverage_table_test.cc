// Seeds are fixed. Comparisons with figures computed elsewhere allow 5 standard
// errors (probability 6e-7 each for a fresh seed).
#include "research/coverage_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimation/distributions/gamma.h"
#include "estimation/sums.h"

namespace geiger::research {
namespace {

CellTally simulate(const TableSettings& settings, const Cell& cell) {
  IntervalBook book(settings.level);
  CellTally all{};
  for (std::uint64_t block = 0; block < blocks_of(settings); ++block) {
    const CellTally one = simulate_block(settings, cell, block, book);
    for (std::size_t i = 0; i < kMethods; ++i) all[i].merge(one[i]);
  }
  return all;
}

const MethodTally& of(const CellTally& tally, Method method) {
  return tally[static_cast<std::size_t>(method)];
}

// Small objects: s is Poisson, and FF-SG is Garwood's interval. Averaged over the
// jitter of the expected number by hand.
TEST(CoverageTable, AgreesWithPoissonSumsForSmallObjects) {
  for (const double samples : {0.5, 3.0, 10.0}) {
    const CellTally tally = simulate({.replicates = 20000}, {Mix::kConst16, samples});
    double total = 0, normal = 0, up_to_sample = 0;
    constexpr int kPoints = 400;
    for (int i = 0; i < kPoints; ++i) {
      const double mean = samples * (0.65 + 0.7 * (i + 0.5) / kPoints);
      for (int s = 0; s < 120; ++s) {
        const double weight = std::exp(s * std::log(mean) - mean - std::lgamma(s + 1)) / kPoints;
        const double low = s == 0 ? 0 : estimation::gamma_quantile(s, 0.025);
        const double half = 1.959964 * std::sqrt(s);
        total += low <= mean && mean <= estimation::gamma_quantile(s + 1, 0.975) ? weight : 0;
        normal += s - half <= mean && mean <= s + half ? weight : 0;
        up_to_sample +=
            s > 0 && low <= mean && mean <= estimation::gamma_quantile(s, 0.975) ? weight : 0;
      }
    }
    const auto expect = [&](Method method, double expected) {
      const double error = std::sqrt(expected * (1 - expected) / 20000);
      EXPECT_NEAR(of(tally, method).coverage(), expected, 5 * error)
          << name_of(method) << ' ' << samples;
    };
    expect(Method::kTotal, total);
    expect(Method::kFixedWindow, total);
    expect(Method::kNormal, normal);
    expect(Method::kUpToSample, up_to_sample);
  }
}

// The claim that the whole project rests on, and that the others do not share.
TEST(CoverageTable, OnlyClopperPearsonLikeIntervalsHoldEverywhere) {
  bool has_normal_failed = false, has_up_to_sample_failed = false;
  for (std::size_t mix = 0; mix < kMixes; ++mix) {
    for (const double samples : {0.5, 2.0, 10.0, 100.0}) {
      const Cell cell{static_cast<Mix>(mix), samples};
      const CellTally tally = simulate({.replicates = 1500}, cell);
      for (const Method method : {Method::kTotal, Method::kListed, Method::kFixedWindow}) {
        // 5 standard errors below the level.
        EXPECT_GT(of(tally, method).coverage_interval(1 - 6e-7).hi, 0.95)
            << name_of(method) << ' ' << name_of(cell.mix) << ' ' << samples;
      }
      has_normal_failed |= of(tally, Method::kNormal).coverage() < 0.5;
      has_up_to_sample_failed |= of(tally, Method::kUpToSample).coverage() < 0.5;
    }
  }
  EXPECT_TRUE(has_normal_failed);
  EXPECT_TRUE(has_up_to_sample_failed);
}

TEST(CoverageTable, CertainObjectsLeaveNoError) {
  const CellTally tally = simulate({.replicates = 300, .has_certain = true}, {Mix::kConst2T, 5});
  EXPECT_EQ(of(tally, Method::kTotal).coverage(), 1);
  EXPECT_EQ(of(tally, Method::kListed).counted, 0U);
  EXPECT_EQ(of(tally, Method::kListed).coverage_interval(0.95).hi, 1);
}

TEST(CoverageTable, DrawsSitesWithTheExpectedSamples) {
  std::mt19937_64 generator(4);
  const double lambda = estimation::rate_of_interval(static_cast<double>(kTableInterval));
  for (std::size_t mix = 0; mix < kMixes; ++mix) {
    double expected = 0;
    constexpr int kSites = 4000;
    for (int i = 0; i < kSites; ++i) {
      const Site site = draw_site({static_cast<Mix>(mix), 20}, false, generator);
      ASSERT_TRUE(site.is_pure);
      for (const SizeGroup& group : site.objects) {
        ASSERT_GT(group.size * group.count, 0U);
        expected += static_cast<double>(group.count) *
                    estimation::inclusion_probability(group.size, lambda);
      }
    }
    EXPECT_NEAR(expected / kSites, 20, 0.2) << name_of(static_cast<Mix>(mix));
  }
}

TEST(CoverageTable, RepeatsItselfWhateverTheOrder) {
  const TableSettings settings{.replicates = 250};
  const Cell cell{Mix::kPower, 3};
  IntervalBook forward(0.95), backward(0.95);
  ASSERT_EQ(blocks_of(settings), 3U);
  for (const std::uint64_t block : {2U, 0U, 1U}) {
    const CellTally one = simulate_block(settings, cell, block, backward);
    const CellTally again = simulate_block(settings, cell, block, forward);
    for (std::size_t i = 0; i < kMethods; ++i) {
      EXPECT_EQ(one[i].covered, again[i].covered);
      EXPECT_EQ(one[i].width, again[i].width);
    }
  }
  const CellTally last = simulate_block(settings, cell, 2, forward);
  EXPECT_EQ(of(last, Method::kTotal).counted, 50U);
  TableSettings other = settings;
  other.seed = 2;
  EXPECT_NE(of(simulate_block(other, cell, 0, forward), Method::kTotal).width,
            of(simulate_block(settings, cell, 0, forward), Method::kTotal).width);
}

// Every replicate is in one block, however many there are.
TEST(CoverageTable, DividesReplicatesIntoBlocks) {
  for (const std::uint64_t replicates : {1U, 100U, 101U, 100000U, 123456U, 10000000U}) {
    const std::uint64_t blocks = blocks_of({.replicates = replicates});
    EXPECT_GE(blocks, 1U);
    EXPECT_LE(blocks, 1000U) << replicates;
  }
  EXPECT_EQ(of(simulate({.replicates = 101}, {Mix::kConst16, 1}), Method::kTotal).counted, 101U);
}

TEST(MethodTally, HasTheIntervalOfABinomialShare) {
  MethodTally tally;
  tally.counted = 100;
  tally.covered = 95;  // Clopper and Pearson: .8872, .9836.
  EXPECT_NEAR(tally.coverage_interval(0.95).lo, 0.8872, 5e-5);
  EXPECT_NEAR(tally.coverage_interval(0.95).hi, 0.9836, 5e-5);
  EXPECT_EQ(MethodTally{}.coverage_interval(0.95).lo, 0);
  EXPECT_EQ(MethodTally{}.coverage_interval(0.95).hi, 1);
}

}  // namespace
}  // namespace geiger::research
