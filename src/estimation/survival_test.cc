// The simulations have fixed seeds; their limits leave five standard errors (false
// alarms of a fresh seed below 1e-6).
#include "estimation/survival.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "estimation/sums.h"

namespace geiger::estimation {
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
  ASSERT_EQ(curve.steps().size(), block["S"].size());
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

// Without censoring the curve is the share of lives that are longer, and the variance
// of its logarithm is Greenwood's: (1 - S) / (n S).
TEST(SurvivalCurve, IsTheEmpiricalOneWithoutCensoring) {
  const SurvivalCurve curve(freed_at({1, 2, 3, 4, 5, 6, 7, 8}), 0.95);
  for (int k = 1; k < 8; ++k) {
    const SurvivalStep step = curve.at(k + 0.5);
    const double s = 1 - k / 8.0;
    EXPECT_NEAR(step.alive, s, 1e-12);
    const double reach = 1.959963984540054 * std::sqrt((1 - s) / (8 * s)) / -std::log(s);
    EXPECT_NEAR(step.band.lo, std::exp(std::log(s) * std::exp(reach)), 1e-10);
    EXPECT_NEAR(step.band.hi, std::exp(std::log(s) * std::exp(-reach)), 1e-10);
  }
  EXPECT_EQ(curve.at(8).alive, 0);
  EXPECT_EQ(curve.at(8).band.lo, 0);
  EXPECT_EQ(curve.at(8).band.hi, curve.at(7).band.hi);
  EXPECT_EQ(curve.at(0.5).alive, 1);
  EXPECT_NEAR(curve.at(0.5).band.lo, std::pow(0.025, 1.0 / 8), 1e-12);
  EXPECT_EQ(curve.quantile(0.5).value, 4);
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
  ASSERT_EQ(plain.steps().size(), scaled.steps().size());
  for (std::size_t i = 0; i < plain.steps().size(); ++i) {
    EXPECT_NEAR(plain.steps()[i].alive, scaled.steps()[i].alive, 1e-12);
    EXPECT_NEAR(plain.steps()[i].band.lo, scaled.steps()[i].band.lo, 1e-12);
  }
  EXPECT_NEAR(plain.at(0).band.lo, scaled.at(0).band.lo, 1e-12);
}

TEST(SurvivalCurve, SaysWhatItCannotKnow) {
  const SurvivalCurve nothing({}, 0.95);
  EXPECT_TRUE(nothing.steps().empty());
  EXPECT_EQ(nothing.at(5).alive, 1);
  EXPECT_EQ(nothing.at(5).band.lo, 0);
  EXPECT_FALSE(nothing.quantile(0.5).value);
  const SurvivalCurve alive(std::vector<Lifetime>{{3, false, 1}, {4, false, 1}}, 0.95);
  EXPECT_TRUE(alive.steps().empty());
  EXPECT_FALSE(alive.quantile(0.5).value);
  // The curve reaches one half, its upper limit does not.
  const auto median = SurvivalCurve(freed_at({1, 2, 3}), 0.95).quantile(0.5);
  EXPECT_EQ(median.lo, 1);
  EXPECT_EQ(median.value, 2);
  EXPECT_FALSE(median.hi);
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
    for (Lifetime& life : lives) life = {any(), generator() % 2 == 0, any()};
    const SurvivalCurve curve(lives, levels[generator() % std::size(levels)]);
    double before = 1;
    for (const SurvivalStep& step : curve.steps()) {
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

// However short the recording, the curve over bytes is that of the bytes, where the
// share of the freed ones (.63 of the truth and less for short recordings) is not.
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
}  // namespace geiger::estimation
