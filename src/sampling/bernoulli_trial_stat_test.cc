// The law of BernoulliTrial. Seeds are fixed, so nothing here is flaky; with a fresh seed, a
// correct one would exceed the limits with probability below 1e-6 per comparison (|z| < 5: 5.7e-7;
// p > 1e-6). Figures for n + 1 are those of FastBernoulliTrial's comparison, on the same seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "geiger/bernoulli_trial.h"
#include "sampling/test_geometric_law.h"

namespace geiger::sampling::bernoulli_trial_stat_test {
namespace {

struct Case {
  double probability;
  std::uint64_t count;
};

std::uint64_t next_skip(BernoulliTrial& trial) {
  std::uint64_t skip = 0;
  while (!trial.trial()) ++skip;
  return skip;
}

// All blocks, and those right after a success. A power of .999 at 1e-6 needs 64 (1 - pi)/(pi
// delta^2) blocks, delta = q^n p: 3e4 for (1/8, 1), 1.5e6 for (1/64, 16). With n + 1, z is +470 and
// +576, +65 and +174, +8.7 and +20 in the three cases.
TEST(BernoulliTrialLaw, BlocksSucceedAtTheirRateAlsoRightAfterASuccess) {
  for (const auto [probability, count] : {Case{0.5, 1}, {0.125, 1}, {1.0 / 64, 16}}) {
    BernoulliTrial trial(probability, 101);
    double hits = 0, after = 0, hits_after = 0;
    bool was_hit = false;
    constexpr int kBlocks = 2000000;
    for (int i = 0; i < kBlocks; ++i) {
      const bool is_hit = trial.trial(count);
      hits += is_hit;
      after += was_hit;
      hits_after += was_hit && is_hit;
      was_hit = is_hit;
    }
    const double pi = 1 - survival_at(count, probability);
    EXPECT_LT(std::abs(z_score(hits, kBlocks, pi)), 5) << probability;
    EXPECT_LT(std::abs(z_score(hits_after, after, pi)), 5) << probability;
  }
}

// Skips by single trials in up to 200 bins, also for probabilities other than 1/T.
TEST(BernoulliTrialLaw, SkipsAreGeometric) {
  for (const double probability : {0.7, 0.3, 1.0 / 8, 1.0 / 16, 0.011}) {
    const SkipBins bins(probability, 200);
    std::vector<double> counts(bins.starts.size());
    BernoulliTrial trial(probability, 202);
    for (int i = 0; i < 400000; ++i) ++counts[bins.bin_of(next_skip(trial))];
    EXPECT_GT(chi_square_p(counts, bins.probabilities), 1e-6) << probability;
  }
}

// At realistic probabilities an error of one trial shows in the smallest skips only: z = +14 with n
// + 1, and -13 for skips rounded up.
TEST(BernoulliTrialLaw, FirstTrialAfterASuccessHasItsProbability) {
  constexpr double kProbability = 1.0 / 102400;
  constexpr int kDraws = 1 << 24;
  BernoulliTrial trial(kProbability, 303);
  double at_once = 0, within_16 = 0;
  for (int i = 0; i < kDraws; ++i) {
    trial.redraw();
    const bool is_first = trial.trial();
    at_once += is_first;
    within_16 += is_first || trial.trial(15);
  }
  EXPECT_LT(std::abs(z_score(at_once, kDraws, kProbability)), 5);
  EXPECT_LT(std::abs(z_score(within_16, kDraws, 1 - survival_at(16, kProbability))), 5);
}

// The success's position in its block, found by a twin with single trials: the geometric law
// truncated at the block. With n + 1, p is 0 and 2e-65.
TEST(BernoulliTrialLaw, PlacesInBlocksAreTruncatedGeometric) {
  for (const std::uint64_t interval : {std::uint64_t{8}, std::uint64_t{64}}) {
    constexpr std::uint64_t kCount = 16;
    BernoulliTrial blocks(1.0 / static_cast<double>(interval), 505);
    BernoulliTrial singles(1.0 / static_cast<double>(interval), 505);
    std::vector<double> counts(kCount);
    for (int i = 0; i < 500000; ++i) {
      const bool is_hit = blocks.trial(kCount);
      std::uint64_t place = 0;
      while (place < kCount && !singles.trial()) ++place;
      ASSERT_EQ(is_hit, place < kCount);
      if (is_hit) ++counts[place];
    }
    EXPECT_GT(chi_square_p(counts, offset_probabilities(kCount, interval)), 1e-6) << interval;
  }
}

// The probability changes every 100 blocks, at moments that depend on past answers but
// not on pending ones. A skip kept under the new probability fails both.
TEST(BernoulliTrialLaw, ChangesOfTheProbabilityKeepBothRates) {
  constexpr double kProbabilities[] = {1.0 / 16, 1.0 / 256};
  BernoulliTrial trial(0, 707);
  double hits[2] = {0, 0};
  constexpr int kRounds = 10000;
  for (int i = 0; i < 2 * kRounds; ++i) {
    ASSERT_TRUE(trial.set_probability(kProbabilities[i % 2]));
    for (int j = 0; j < 100; ++j) hits[i % 2] += trial.trial(8);
  }
  for (const int i : {0, 1}) {
    const double pi = 1 - survival_at(8, kProbabilities[i]);
    EXPECT_LT(std::abs(z_score(hits[i], 100.0 * kRounds, pi)), 5) << i;
  }
}

}  // namespace
}  // namespace geiger::sampling::bernoulli_trial_stat_test
