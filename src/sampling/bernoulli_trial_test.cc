// BernoulliTrial's results at every boundary, with a generator whose numbers the test sets.
#include "geiger/bernoulli_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace geiger::sampling::bernoulli_trial_test {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

// Yields the given skip counts in order, for one probability.
class Script {
 public:
  Script(double probability, std::vector<std::uint64_t> skips, int* calls)
      : lambda_(rate_of_probability(probability)), skips_(std::move(skips)), calls_(calls) {}

  std::uint64_t next() {
    const auto skip = static_cast<double>(skips_.at(static_cast<std::size_t>((*calls_)++)));
    const double u = std::exp(-(skip + 0.5) * lambda_);
    const std::uint64_t bits = static_cast<std::uint64_t>(u * 0x1p53 - 1) << 11;
    EXPECT_EQ(skip_count_of(bits, lambda_), static_cast<std::uint64_t>(skip));
    return bits;
  }

 private:
  double lambda_;
  std::vector<std::uint64_t> skips_;
  int* calls_;
};

constexpr double kP = 1.0 / 16;

struct Scripted {
  explicit Scripted(std::vector<std::uint64_t> skips) : trial(kP, Script(kP, skips, &calls)) {}
  int calls = 0;
  BasicBernoulliTrial<Script> trial;
};

// Catches FastBernoulliTrial's `skip > n`: at equality the n trials are all failures.
TEST(BernoulliTrial, AsManyTrialsAsTheSkipCountFail) {
  Scripted scripted({5, 3, 9});
  EXPECT_FALSE(scripted.trial.trial(5));
  EXPECT_TRUE(scripted.trial.trial(1));
  EXPECT_FALSE(scripted.trial.trial(3));
  EXPECT_TRUE(scripted.trial.trial(1));
}

TEST(BernoulliTrial, OneTrialMoreThanTheSkipCountSucceeds) {
  Scripted scripted({5, 0, 4});
  EXPECT_TRUE(scripted.trial.trial(6));
  EXPECT_TRUE(scripted.trial.trial());
  EXPECT_FALSE(scripted.trial.trial(4));
}

TEST(BernoulliTrial, NoTrialNeverSucceeds) {
  Scripted scripted({0, 0, 7});
  EXPECT_FALSE(scripted.trial.trial(0));
  EXPECT_TRUE(scripted.trial.trial(1));
  EXPECT_FALSE(scripted.trial.trial(0));
  EXPECT_EQ(scripted.calls, 2);
}

TEST(BernoulliTrial, SingleTrialsFailAsOftenAsTheSkipCountSays) {
  Scripted scripted({3, 0, 2, 100});
  std::vector<bool> answers;
  for (int i = 0; i < 8; ++i) answers.push_back(scripted.trial.trial());
  EXPECT_EQ(answers, (std::vector<bool>{false, false, false, true, true, false, false, true}));
}

TEST(BernoulliTrial, FailuresUseNoRandomNumbers) {
  Scripted scripted({500, 5});
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(scripted.trial.trial(10));
  EXPECT_EQ(scripted.calls, 1);
  EXPECT_TRUE(scripted.trial.trial(10));
  EXPECT_EQ(scripted.calls, 2);
}

TEST(BernoulliTrial, ZeroAndOneUseNoRandomNumbers) {
  for (const double probability : {0.0, 1.0}) {
    int calls = 0;
    BasicBernoulliTrial<Script> trial(probability, Script(kP, {}, &calls));
    for (std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, kHuge, kHuge, kHuge}) {
      EXPECT_EQ(trial.trial(count), probability == 1);
      EXPECT_EQ(trial.trial(), probability == 1);
      EXPECT_FALSE(trial.trial(0));
    }
    EXPECT_EQ(calls, 0);
  }
}

// One seed, once in blocks and once trial by trial up to the first success: the results are equal,
// not only their law.
TEST(BernoulliTrial, BlocksAnswerAsSingleTrialsDo) {
  for (const double probability : {0.5, 0.125, 1.0 / 64, 1e-3}) {
    BernoulliTrial blocks(probability, 17);
    BernoulliTrial singles(probability, 17);
    Xoshiro256pp sizes(18);
    for (int i = 0; i < 200000; ++i) {
      const std::uint64_t count = sizes.next() % 40 >> (sizes.next() % 6);
      bool any = false;
      for (std::uint64_t k = 0; k < count && !any; ++k) any = singles.trial();
      ASSERT_EQ(blocks.trial(count), any) << i;
    }
  }
}

// 2^64 trials of probability 1e-15 fail only with probability e^-18,000; such skips are
// clamped for 1e-25, where the same trials succeed with probability 2e-6.
TEST(BernoulliTrial, ClampedSkipCountsAreNoSuccess) {
  BernoulliTrial likely(1e-15, 3);
  EXPECT_TRUE(likely.trial(kHuge));
  BernoulliTrial unlikely(1e-25, 3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(unlikely.trial(kHuge));
    EXPECT_FALSE(unlikely.trial());
  }
}

TEST(BernoulliTrial, RefusesWhatIsNoProbability) {
  BernoulliTrial trial(0.25, 1);
  for (const double wrong : {-0.001, 1.001, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(trial.set_probability(wrong));
    EXPECT_EQ(trial.probability(), 0.25);
    BernoulliTrial never(wrong, 1);
    EXPECT_EQ(never.probability(), 0);
    EXPECT_FALSE(never.trial(kHuge));
  }
}

TEST(BernoulliTrial, TakesEveryProbability) {
  for (const double probability : {5e-324, 1e-310, 1e-30, 0x1p-53, 0.5, 0.9, 1 - 0x1p-53}) {
    BernoulliTrial trial(0, 1);
    ASSERT_TRUE(trial.set_probability(probability));
    EXPECT_EQ(trial.trial(100), probability > 0.1) << probability;
  }
}

// Catches a change that keeps the old skip, and one that restarts the generator.
TEST(BernoulliTrial, ChangingTheProbabilityDrawsOnce) {
  BernoulliTrial trial(1e-6, 21);
  ASSERT_TRUE(trial.set_probability(kP));
  Xoshiro256pp generator(21);
  generator.next();
  const std::uint64_t skip = skip_count_of(generator.next(), rate_of_probability(kP));
  EXPECT_FALSE(trial.trial(skip));
  EXPECT_TRUE(trial.trial());
}

TEST(BernoulliTrial, SettingTheStateKeepsWhatIsDrawn) {
  BernoulliTrial one(kP, 1);
  BernoulliTrial other(kP, 1);
  other.set_random_state(2);
  while (!one.trial()) EXPECT_FALSE(other.trial());
  EXPECT_TRUE(other.trial());
  BernoulliTrial second(kP, 2);
  other.set_random_state(2);
  other.redraw();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(other.trial(), second.trial());
}

}  // namespace
}  // namespace geiger::sampling::bernoulli_trial_test
