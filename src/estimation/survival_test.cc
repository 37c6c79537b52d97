// The simulations have fixed seeds; their limits leave five standard errors (false
// alarms of a fresh seed below 1e-6).
#include "estimation/survival.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "estimation/distributions/gamma.h"
#include "estimation/sums.h"

namespace geiger::estimation::survival_test {
namespace {

TEST(SurvivalCurve, GivesTheReference) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  const auto& block = vectors["weighted_km"];
  std::vector<Lifetime> lives;
  for (std::size_t i = 0; i < block["times"].size(); ++i) {
    lives.push_back({block["times"][i], block["event"][i] == 1, block["weight"][i]});
  }
  std::ranges::reverse(lives);  // Given in any order.
  const SurvivalCurve curve(lives, 0.95);
  ASSERT_EQ(curve.size(), block["S"].size());
  for (const auto& [time, expected] : block["S"].items()) {
    const SurvivalStep step = curve.at(std::stod(time));
    EXPECT_EQ(step.length, std::stod(time));
    EXPECT_NEAR(step.alive, expected.get<double>(), 1e-10 * expected.get<double>()) << time;
  }
}

std::vector<Lifetime> freed_at(const std::vector<double>& lengths) {
  std::vector<Lifetime> lives;
  for (const double length : lengths) lives.push_back({length, true, 1});
  return lives;
}

/// Clopper and Pearson's limits of a share with k of n left, by the beta law.
Interval clopper_pearson(int k, int n) {
  return {k == 0 ? 0 : boost::math::ibeta_inv(k, n - k + 1, 0.025),
          k == n ? 1 : boost::math::ibeta_inv(k + 1, n - k, 0.975)};
}

// Without censoring the curve is the share of lives that are longer, the variance of its
// logarithm is Greenwood's, (1 - S) / (n S), and the limits are near the exact ones of a
// share, the lower one on its safe side.
TEST(SurvivalCurve, IsTheEmpiricalOneWithoutCensoring) {
  constexpr int kLives = 40;
  std::vector<double> lengths(kLives);
  std::iota(lengths.begin(), lengths.end(), 1);
  const SurvivalCurve curve(freed_at(lengths), 0.95);
  for (int k = 1; k < kLives; ++k) {
    const SurvivalStep step = curve.at(k + 0.5);
    const double s = 1 - k / double{kLives};
    EXPECT_NEAR(step.alive, s, 1e-12);
    const Gamma fewer{-std::log(s), std::sqrt((1 - s) / (kLives * s))};
    EXPECT_NEAR(step.band.hi, std::exp(-fewer.lower_quantile(0.025)), 1e-10);
    const Interval exact = clopper_pearson(kLives - k, kLives);
    EXPECT_NEAR(step.band.hi, exact.hi, 0.02) << k;
    EXPECT_NEAR(step.band.lo, exact.lo, 0.03) << k;
    EXPECT_LE(step.band.lo, exact.lo + 1e-12) << k;
  }
  EXPECT_EQ(curve.at(kLives).alive, 0);
  EXPECT_EQ(curve.at(kLives).band.lo, 0);
  EXPECT_EQ(curve.at(kLives).band.hi, curve.at(kLives - 1).band.hi);
  EXPECT_EQ(curve.at(0.5).alive, 1);
  EXPECT_NEAR(curve.at(0.5).band.lo, std::pow(0.025, 1.0 / kLives), 1e-12);
  EXPECT_EQ(curve.quantile(0.5).value, 20);
}

// Twelve freed at once are known better than one.
TEST(SurvivalCurve, IsBoundWhereEverythingWent) {
  const SurvivalCurve curve(std::vector<Lifetime>(12, Lifetime{5, true, 1}), 0.95);
  EXPECT_EQ(curve.at(5).alive, 0);
  EXPECT_NEAR(curve.at(5).band.hi, std::log(40) / 12, 1e-12);
  EXPECT_GE(curve.at(5).band.hi, clopper_pearson(0, 12).hi);
  EXPECT_EQ(SurvivalCurve(freed_at({5}), 0.95).at(5).band.hi, 1);
}

// The variance by its definition: the derivative of the logarithm with respect to the weight of
// each sample, by differences.
double variance_by_differences(const std::vector<Lifetime>& lives, double length) {
  constexpr double kStep = 1e-5;
  const auto logarithm_with = [&](std::size_t i, double factor) {
    std::vector<Lifetime> changed = lives;
    changed[i].weight *= factor;
    return std::log(SurvivalCurve(changed, 0.95).at(length).alive);
  };
  double variance = 0;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const double answer =
        (logarithm_with(i, 1 + kStep) - logarithm_with(i, 1 - kStep)) / (2 * kStep);
    variance += lives[i].missed * answer * answer;
  }
  return variance;
}

// Heavy samples that live longer than light ones: Greenwood's formula gives a seventh of it.
TEST(SurvivalCurve, HasTheVarianceOfSampling) {
  std::vector<Lifetime> lives;
  for (int i = 0; i < 30; ++i) lives.push_back({1 + 0.01 * i, true, 1, 1});
  for (int i = 0; i < 10; ++i) lives.push_back({2 + 0.1 * i, i % 3 != 0, 20, 0.75});
  const SurvivalCurve curve(lives, 0.95);
  const SurvivalStep step = curve.at(1.5);
  const double variance = variance_by_differences(lives, 1.5);
  const Gamma fewer{-std::log(step.alive), std::sqrt(variance)};
  EXPECT_NEAR(step.band.hi, std::exp(-fewer.lower_quantile(0.025)), 1e-7);
  const Gamma by_greenwood{-std::log(step.alive), std::sqrt(30.0 / 230 / 200)};
  EXPECT_GT(step.band.hi, std::exp(-by_greenwood.lower_quantile(0.025)) + 0.01);
}

// Certain objects add no error, and if nothing can be missed there is none.
TEST(SurvivalCurve, IsExactWhereEverythingWasRecorded) {
  std::vector<Lifetime> lives{{1, true, 3, 0}, {2, false, 5, 0}, {4, true, 2, 0}, {6, false, 7, 0}};
  const SurvivalCurve exact(lives, {.level = 0.95, .next = 0.0});
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(exact.step(i).band.lo, exact.step(i).alive);
    EXPECT_EQ(exact.step(i).band.hi, exact.step(i).alive);
  }
  EXPECT_EQ(exact.quantile(0.1).lo, 1);
  EXPECT_EQ(exact.quantile(0.1).hi, 1);
  // Smaller objects may have been missed: a weight of up to one sample is not unlikely, and they
  // may have died before all others or outlive them.
  const SurvivalCurve missing(lives, {.level = 0.95, .next = 1.0});
  EXPECT_NEAR(missing.at(0).band.lo, std::exp(-std::log(40.0) / 17), 1e-12);
  EXPECT_NEAR(missing.at(1).band.hi, (14 + std::log(40.0)) / (17 + std::log(40.0)), 1e-12);
  // Half missed, half the variance.
  for (Lifetime& life : lives) life.missed = 0.5;
  const SurvivalCurve half(lives, {.level = 0.95, .next = 1.0});
  EXPECT_GT(half.at(1).band.hi, missing.at(1).band.hi);
}

TEST(SurvivalCurve, CountsFreesBeforeWhatIsCensoredAtThem) {
  const SurvivalCurve curve(std::vector<Lifetime>{{2, true, 1}, {2, false, 1}}, 0.95);
  EXPECT_EQ(curve.at(2).alive, 0.5);
  EXPECT_EQ(curve.at(2).at_risk, 2);
}

TEST(SurvivalCurve, DependsOnRelativeWeightsOnly) {
  std::vector<Lifetime> lives{{1, true, 3}, {2, false, 5}, {4, true, 2}, {6, false, 7}};
  const SurvivalCurve plain(lives, 0.95);
  for (Lifetime& life : lives) life.weight *= 1e200;
  const SurvivalCurve scaled(lives, 0.95);
  ASSERT_EQ(plain.size(), scaled.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(plain.step(i).alive, scaled.step(i).alive, 1e-12);
    EXPECT_NEAR(plain.step(i).band.lo, scaled.step(i).band.lo, 1e-12);
  }
  EXPECT_NEAR(plain.at(0).band.lo, scaled.at(0).band.lo, 1e-12);
}

TEST(SurvivalCurve, SaysWhatItCannotKnow) {
  const SurvivalCurve nothing({}, 0.95);
  EXPECT_EQ(nothing.size(), 0U);
  EXPECT_EQ(nothing.at(5).alive, 1);
  EXPECT_EQ(nothing.at(5).band.lo, 0);
  EXPECT_FALSE(nothing.quantile(0.5).value);
  const SurvivalCurve alive(std::vector<Lifetime>{{3, false, 1}, {4, false, 1}}, 0.95);
  EXPECT_EQ(alive.size(), 0U);
  EXPECT_EQ(alive.longest(), 4);
  EXPECT_FALSE(alive.quantile(0.5).value);
  // The curve reaches one half; three samples do not determine the limits.
  const auto median = SurvivalCurve(freed_at({1, 2, 3}), 0.95).quantile(0.5);
  EXPECT_EQ(median.lo, 0);
  EXPECT_EQ(median.value, 2);
  EXPECT_FALSE(median.hi);
  // Beyond the longest length watched everything is possible.
  const SurvivalCurve long_lived(std::vector<Lifetime>(100, Lifetime{7, false, 1}), 0.95);
  EXPECT_EQ(long_lived.quantile(0.5).lo, 7);
  EXPECT_FALSE(long_lived.quantile(0.5).value);
}

TEST(SurvivalCurve, IsNeverNan) {
  std::mt19937_64 generator(1);
  const double values[] = {0,
                           1e-320,
                           1,
                           2,
                           2,
                           1e100,
                           1e300,
                           1e308,
                           -1,
                           std::nan(""),
                           std::numeric_limits<double>::infinity()};
  const double levels[] = {0.95, 0, 1, -2, 1e-17, std::nan("")};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  for (int i = 0; i < 20000; ++i) {
    std::vector<Lifetime> lives(generator() % 6);
    for (Lifetime& life : lives) life = {any(), generator() % 2 == 0, any(), any()};
    SurvivalDesign design{.level = levels[generator() % std::size(levels)]};
    if (generator() % 2 == 0) design.next = any();
    const SurvivalCurve curve(lives, design);
    double before = 1;
    for (std::size_t step_index = 0; step_index < curve.size(); ++step_index) {
      const SurvivalStep step = curve.step(step_index);
      ASSERT_TRUE(step.alive >= 0 && step.alive <= before) << i;
      ASSERT_TRUE(step.band.lo >= 0 && step.band.lo <= step.alive) << i;
      ASSERT_TRUE(step.band.hi <= 1 && step.band.hi >= step.alive) << i;
      ASSERT_TRUE(std::isfinite(step.at_risk)) << i;
      before = step.alive;
    }
    ASSERT_FALSE(std::isnan(curve.at(any()).alive)) << i;
  }
}

// Objects allocated at a constant rate while a program is watched for `watched` mean
// lifetimes; small ones live for 1 on average, large ones for `large_life`.
class Watched {
 public:
  Watched(double watched, double large_life, std::uint64_t seed)
      : watched_(watched), large_life_(large_life), generator_(seed) {}

  std::vector<Lifetime> samples() {
    std::vector<Lifetime> lives;
    for (const bool is_large : {false, true}) {
      const Bytes size = is_large ? 40000 : 64;
      const double pi = inclusion_probability(size, rate_of_interval(65536));
      // As many bytes in the large ones as in the small.
      const double bytes = 65536.0 * 60;
      std::poisson_distribution<int> number(bytes / static_cast<double>(size) * pi);
      for (int n = number(generator_); n > 0; --n) {
        const double start = uniform_(generator_) * watched_;
        const double life = exponential_(generator_) * (is_large ? large_life_ : 1);
        lives.push_back({std::min(life, watched_ - start), start + life <= watched_,
                         static_cast<double>(size) / pi});
      }
    }
    return lives;
  }

 private:
  double watched_, large_life_;
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> exponential_;
};

// For any length of the recording the curve over bytes is that of the bytes; the share of the freed
// ones (.63 of the truth and less for short recordings) is not.
TEST(SurvivalSimulation, IsUnbiasedAndCovers) {
  constexpr int kRepeats = 1500;
  for (const double watched : {0.5, 1.0, 3.0}) {
    for (const double large_life : {1.0, 3.0}) {
      Watched program(watched, large_life, 5);
      const double length = 0.3;
      const double truth = (std::exp(-length) + std::exp(-length / large_life)) / 2;
      double sum = 0, squares = 0, covered = 0, naive = 0;
      for (int i = 0; i < kRepeats; ++i) {
        const std::vector<Lifetime> lives = program.samples();
        const SurvivalStep step = SurvivalCurve(lives, 0.95).at(length);
        sum += step.alive;
        squares += step.alive * step.alive;
        covered += step.band.lo <= truth && truth <= step.band.hi;
        double freed = 0, longer = 0;
        for (const Lifetime& life : lives) {
          freed += life.is_freed ? life.weight : 0;
          longer += life.is_freed && life.length > length ? life.weight : 0;
        }
        naive += longer / freed / kRepeats;
      }
      const double mean = sum / kRepeats;
      const double error = std::sqrt((squares / kRepeats - mean * mean) / kRepeats);
      EXPECT_LT(std::abs(mean - truth) / error, 5) << watched << " " << large_life;
      EXPECT_GE(covered / kRepeats, 0.95 - 5 * std::sqrt(0.05 * 0.95 / kRepeats)) << watched;
      if (watched < 2) {
        EXPECT_GT(truth - naive, 5 * error);
      }
    }
  }
}

}  // namespace
}  // namespace geiger::estimation::survival_test
