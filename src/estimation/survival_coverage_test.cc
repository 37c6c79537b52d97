// Whether the limits of survival curves contain the curve of a recording of every allocation, for
// mixes of sizes with different lifetimes. The levels stated were measured with other seeds
// (docs/internals/estimators.md, section 12); each must be met within four standard errors (a false
// alarm of a fresh seed once in 16,000 comparisons).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"
#include "estimation/survival.h"

namespace geiger::estimation::survival_coverage_test {
namespace {

constexpr double kInterval = 65536;
constexpr double kIntervals = 30;  // Bytes of the program, in intervals.

struct Kind {
  Bytes size;
  double share;  // Of the bytes.
  double life;   // Mean.
};

struct Levels {
  double curve, median;
};

struct Case {
  const char* name;
  std::vector<Kind> kinds;
  double watched;
  bool over_objects;
  Levels levels;
};

/// One program and one recording of it.
struct Drawn {
  std::vector<Lifetime> all, sampled;
  double heaviest = 1;
};

class Program {
 public:
  Program(const Case& tried, std::uint64_t seed) : case_(tried), generator_(seed) {}

  Drawn draw() {
    Drawn drawn;
    for (const Kind& kind : case_.kinds) add(drawn, kind);
    return drawn;
  }

 private:
  void add(Drawn& drawn, const Kind& kind) {
    const auto size = static_cast<double>(kind.size);
    const bool is_certain = size >= kInterval;
    const double pi =
        is_certain ? 1 : inclusion_probability(kind.size, rate_of_interval(kInterval));
    const double weight = case_.over_objects ? 1 : size;
    if (!is_certain) drawn.heaviest = std::max(drawn.heaviest, weight / pi);
    const auto count = std::lround(kIntervals * kInterval * kind.share / size);
    for (long i = 0; i < count; ++i) {
      const double start = uniform_(generator_) * case_.watched;
      const double life = exponential_(generator_) * kind.life;
      const bool is_freed = start + life <= case_.watched;
      const double length = is_freed ? life : case_.watched - start;
      drawn.all.push_back({length, is_freed, weight, 0});
      if (uniform_(generator_) < pi) {
        drawn.sampled.push_back({length, is_freed, weight / pi, 1 - pi});
      }
    }
  }

  const Case& case_;
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> exponential_;
};

bool holds(const SurvivalCurve::Quantile& quantile, double truth) {
  return quantile.lo && *quantile.lo <= truth && (!quantile.hi || truth <= *quantile.hi);
}

constexpr int kRepeats = 300;

void expect_level(double covered, double level, const Case& tried, const char* what) {
  const double error = std::sqrt(level * (1 - level) / kRepeats);
  EXPECT_NEAR(covered / kRepeats, level, 4 * error)
      << tried.name << " watched for " << tried.watched << ", " << what;
}

const std::vector<Case>& cases() {
  static const std::vector<Kind> same{{64, .5, 1}, {40000, .5, 1}};
  static const std::vector<Kind> longer{{64, .5, 1}, {40000, .5, 3}};
  static const std::vector<Kind> shorter{{64, .5, 1}, {40000, .5, .1}};
  static const std::vector<Kind> certain{{64, .5, 1}, {262144, .5, 3}};
  static const std::vector<Case> all{
      {"as long", same, 1, false, {.977, .991}},    {"as long", same, 3, true, {.979, .981}},
      {"longer", longer, 3, false, {.972, .978}},   {"longer", longer, 1, true, {.983, .995}},
      {"shorter", shorter, 1, false, {.972, .974}}, {"shorter", shorter, 1, true, {.983, .995}},
      {"certain", certain, 3, false, {.982, .996}}, {"certain", certain, 3, true, {.980, .980}},
  };
  return all;
}

/// The curve at a point and the median, whose levels were measured. The other quantiles that
/// reports show cross the same band: covered at least at the level, less 4 standard errors of 300
/// programs (false alarm 3e-5 for each of 32 shares). Measured: .970 to .983 at a quarter, .993 and
/// more from three quarters on.
TEST(SurvivalCoverage, IsWhatWasMeasuredAndHoldsAtEveryQuantileShown) {
  constexpr std::array kShares{0.25, 0.75, 0.9, 0.99};
  const double error = std::sqrt(0.95 * 0.05 / kRepeats);
  for (const Case& tried : cases()) {
    Program program(tried, 11);
    double curve = 0, median = 0;
    std::array<double, kShares.size()> covered{};
    for (int i = 0; i < kRepeats; ++i) {
      const Drawn drawn = program.draw();
      const SurvivalCurve truth(drawn.all, {.level = 0.95, .next = 0.0});
      const double next = tried.over_objects ? drawn.heaviest : 1 / rate_of_interval(kInterval);
      const SurvivalCurve seen(drawn.sampled, {.level = 0.95, .next = next});
      // Only an upper limit can miss a quantile that the program itself does not reach.
      const auto holds_at = [&](double share) {
        const auto value = truth.quantile(share).value;
        const auto quantile = seen.quantile(share);
        return value ? holds(quantile, *value) : !quantile.hi;
      };
      const double length = 0.3 * tried.watched;
      const Interval band = seen.at(length).band;
      const double alive = truth.at(length).alive;
      curve += band.lo <= alive && alive <= band.hi;
      median += holds_at(0.5);
      for (std::size_t k = 0; k < kShares.size(); ++k) covered[k] += holds_at(kShares[k]);
    }
    expect_level(curve, tried.levels.curve, tried, "curve");
    expect_level(median, tried.levels.median, tried, "median");
    for (std::size_t k = 0; k < kShares.size(); ++k) {
      EXPECT_GE(covered[k] / kRepeats, 0.95 - 4 * error) << tried.name << ", " << kShares[k];
    }
  }
}

/// Objects of one size; equal numbers of them at 4 KiB, then at 1 MiB.
struct Epochs {
  double first_life, second_life;
  bool over_objects;
};

double covered_over(const Epochs& epochs, double samples) {
  constexpr Bytes kSize = 400;
  constexpr double kSmall = 4096, kLarge = 1 << 20, kWatched = 1, kAt = 0.3;
  std::mt19937_64 generator(3);
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform;
  const auto count = std::lround(samples * kSmall / kSize);
  const double weight = epochs.over_objects ? 1 : kSize;
  int covered = 0;
  for (int i = 0; i < kRepeats; ++i) {
    std::vector<Lifetime> all, sampled;
    NodeSums sums;
    for (const auto& [interval, mean] :
         {std::pair{kSmall, epochs.first_life}, std::pair{kLarge, epochs.second_life}}) {
      const double pi = inclusion_probability(kSize, rate_of_interval(interval));
      sums.could_have_sampled(interval);
      for (long n = 0; n < count; ++n) {
        const double life = exponential(generator) * mean;
        const Lifetime lived{std::min(life, kWatched), life < kWatched, weight, 0};
        all.push_back(lived);
        if (uniform(generator) >= pi) continue;
        sampled.push_back({lived.length, lived.is_freed, weight / pi, 1 - pi});
        sums.add(kSize, rate_of_interval(interval));
      }
    }
    const double next = epochs.over_objects ? heaviest_unseen_object(sums) : sums.largest_interval;
    const Interval band = SurvivalCurve(sampled, {.level = 0.95, .next = next}).at(kAt).band;
    const double alive = SurvivalCurve(all, {.level = 0.95, .next = 0.0}).at(kAt).alive;
    covered += band.lo <= alive && alive <= band.hi;
  }
  return static_cast<double>(covered) / kRepeats;
}

/// Nearly all samples are of the first half; what the second half does is in the limits alone.
/// Without that .15 to .69 are covered. A false alarm of a fresh seed has a probability of 3e-5
/// each.
TEST(SurvivalCoverage, HoldsWhereTheIntervalRose) {
  for (const bool over_objects : {false, true}) {
    for (const double samples : {10.0, 30.0, 100.0}) {
      const double least = 0.95 - 4 * std::sqrt(0.95 * 0.05 / kRepeats);
      EXPECT_GE(covered_over({1, 0.1, over_objects}, samples), least) << samples << " long, short";
      EXPECT_GE(covered_over({0.1, 1, over_objects}, samples), least) << samples << " short, long";
    }
  }
}

}  // namespace
}  // namespace geiger::estimation::survival_coverage_test
