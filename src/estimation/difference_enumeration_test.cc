// The level of the tests and the coverage of the intervals between two sides, computed
// without simulation: every outcome of a composition of objects has a known binomial
// probability, so that shares are exact up to the outcomes left out (below 1e-7).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "estimation/difference.h"
#include "estimation/test_outcomes.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::difference_enumeration_test {
namespace {

constexpr double kT = 65536;

// `count` objects of `size` bytes.
struct Alike {
  Bytes size;
  std::uint64_t count;
};

// Objects of at least `interval` bytes are certain, unless pure; those of them below
// `largest`, the larger interval of both sides, are uneven.
struct Recorded {
  double interval;
  double largest;
  bool is_pure = false;
};

// One possible result of a recording.
struct Outcome {
  Side side;
  double probability;
};

constexpr double kNegligible = 1e-10;

// Every outcome so far with every number of samples of one more group.
std::vector<Outcome> extended(const std::vector<Outcome>& outcomes, const Alike& group,
                              double lambda) {
  const double x = lambda * static_cast<double>(group.size);
  std::vector<Outcome> result;
  for (std::uint64_t k = 0; k <= group.count; ++k) {
    const double share = binomial(group.count, k, x);
    const bool is_past_mode =
        static_cast<double>(k) > static_cast<double>(group.count) * -std::expm1(-x);
    if (share < kNegligible && is_past_mode) break;
    for (const Outcome& outcome : outcomes) {
      if (outcome.probability * share < kNegligible) continue;
      result.push_back(outcome);
      result.back().side.sums.add(group.size, lambda, k);
      result.back().probability *= share;
    }
  }
  return result;
}

std::vector<Outcome> outcomes_of(const std::vector<Alike>& objects, const Recorded& how) {
  std::vector<Outcome> outcomes(1, Outcome{{}, 1});
  outcomes[0].side.sums.could_have_sampled(how.interval);
  for (const Alike& group : objects) {
    const auto z = static_cast<double>(group.size);
    if (z < how.interval || how.is_pure) {
      outcomes = extended(outcomes, group, rate_of_interval(how.interval));
      continue;
    }
    for (Outcome& outcome : outcomes) {
      outcome.side.sums.add_certain(group.size, group.count);
      if (z < how.largest) outcome.side.uneven_bytes += z * static_cast<double>(group.count);
    }
  }
  return outcomes;
}

double bytes_of(const std::vector<Alike>& objects) {
  double bytes = 0;
  for (const Alike& group : objects) {
    bytes += static_cast<double>(group.size) * static_cast<double>(group.count);
  }
  return bytes;
}

constexpr double kAlphas[] = {0.05, 0.01, 1e-3, 1e-4};

// Largest shares over everything included; the p-values' as multiples of alpha.
struct Worst {
  double mid[4] = {};
  double exact[4] = {};
  double missed[2] = {};  ///< Interval of the difference, at 95 %: below, above the truth.
  double growth_missed[2] = {};

  void include(const Worst& other) {
    for (int i = 0; i < 4; ++i) {
      mid[i] = std::max(mid[i], other.mid[i]);
      exact[i] = std::max(exact[i], other.exact[i]);
    }
    for (int i = 0; i < 2; ++i) {
      missed[i] = std::max(missed[i], other.missed[i]);
      growth_missed[i] = std::max(growth_missed[i], other.growth_missed[i]);
    }
  }
};

// The true growth is within its limits if the interval of after - (1 + growth) before contains 0.
void tally_growth(Worst& shares, Side before, Side after, double ratio, double probability) {
  settle_next_event(before.sums, after.sums);
  for (double* bytes :
       {&before.sums.certain_bytes, &before.sums.bytes_seen, &before.sums.weighted_bytes,
        &before.sums.largest_interval, &before.sums.largest_weight, &before.uneven_bytes}) {
    *bytes *= ratio;
  }
  before.sums.bytes_variance *= ratio * ratio;
  const double slack = 1e-9 * kT * (1 + ratio);
  const Interval interval = difference(before, after, 0.95).interval;
  if (interval.hi < -slack) shares.growth_missed[0] += probability;
  if (interval.lo > slack) shares.growth_missed[1] += probability;
}

// The shares for one pair of sides; p-values are meaningful if the sides are equal.
Worst shares_of(const std::vector<Outcome>& before, const std::vector<Outcome>& after,
                double bytes_before, double bytes_after) {
  Worst shares;
  const double slack = 1e-9 * (bytes_before + bytes_after);
  for (const Outcome& a : before) {
    for (const Outcome& b : after) {
      const double probability = a.probability * b.probability;
      if (probability < kNegligible) continue;
      const Difference d = difference(a.side, b.side, 0.95);
      for (int i = 0; i < 4; ++i) {
        if (d.p_value <= kAlphas[i]) shares.mid[i] += probability / kAlphas[i];
        if (d.exact_p_value <= kAlphas[i]) shares.exact[i] += probability / kAlphas[i];
      }
      const double truth = bytes_after - bytes_before;
      if (d.interval.hi < truth - slack) shares.missed[0] += probability;
      if (d.interval.lo > truth + slack) shares.missed[1] += probability;
      tally_growth(shares, a.side, b.side, bytes_after / bytes_before, probability);
    }
  }
  return shares;
}

// The worst error rates without a change: one set of objects, recorded at T and at T / ratio.
Worst without_change(const std::vector<Alike>& objects, double ratio, bool is_pure = false) {
  const auto coarse = outcomes_of(objects, {kT, kT, is_pure});
  const auto fine = outcomes_of(objects, {kT / ratio, kT, is_pure});
  const double bytes = bytes_of(objects);
  Worst worst = shares_of(coarse, fine, bytes, bytes);
  worst.include(shares_of(fine, coarse, bytes, bytes));
  return worst;
}

std::vector<Alike> alike(double size, double samples) {
  const double pi = inclusion_probability(static_cast<Bytes>(size), rate_of_interval(kT));
  return {{static_cast<Bytes>(size),
           static_cast<std::uint64_t>(std::max(1.0, std::round(samples / pi)))}};
}

void expect_level(const Worst& worst, int alphas, const std::string& what) {
  for (int i = 0; i < alphas; ++i) {
    EXPECT_LE(worst.mid[i], 1.1) << what << " alpha " << kAlphas[i];
    EXPECT_LE(worst.exact[i], 1) << what << " alpha " << kAlphas[i];
  }
  EXPECT_LE(worst.missed[0] + worst.missed[1], 0.05) << what;
}

// Poisson counts of tiny objects, with many pairs of counts: for each count of one side, the
// rejected counts of the other are beyond two limits, which move monotonically.
class TinyObjects {
 public:
  TinyObjects(double interval, double samples)
      : interval_(interval), mean_(samples), last_(samples + 9 * std::sqrt(samples) + 12) {}

  [[nodiscard]] std::uint64_t last() const { return static_cast<std::uint64_t>(last_); }
  [[nodiscard]] Side side(std::uint64_t n) const { return {.sums = tiny(n, interval_)}; }
  [[nodiscard]] double probability(std::uint64_t n) const {
    const auto x = static_cast<double>(n);
    return std::exp(x * std::log(mean_) - mean_ - std::lgamma(x + 1));
  }
  [[nodiscard]] double mean() const { return mean_; }

 private:
  double interval_, mean_, last_;
};

using PValue = std::function<double(const Side&, const Side&)>;

// P(p <= alpha) for the growths.
double growth_rejected(const TinyObjects& a, const TinyObjects& b, const PValue& p, double alpha) {
  double rejected = 0;
  // Probabilities of at least n, from the far end.
  std::vector<double> at_least(b.last() + 2, 0.0);
  for (std::uint64_t n = b.last() + 1; n-- > 0;) at_least[n] = at_least[n + 1] + b.probability(n);
  std::uint64_t limit = 0;
  for (std::uint64_t n = 0; n <= a.last(); ++n) {
    const double even = static_cast<double>(n) * b.mean() / a.mean();
    limit = std::max(limit, static_cast<std::uint64_t>(even));
    while (limit <= b.last() && p(a.side(n), b.side(limit)) > alpha) ++limit;
    if (limit > b.last()) break;
    rejected += a.probability(n) * at_least[limit];
  }
  return rejected;
}

double rejected(const TinyObjects& a, const TinyObjects& b, const PValue& p, double alpha) {
  return growth_rejected(a, b, p, alpha) + growth_rejected(b, a, p, alpha);
}

double mid_p(const Side& a, const Side& b) { return difference(a, b, 0.95).p_value; }
double exact_p(const Side& a, const Side& b) { return difference(a, b, 0.95).exact_p_value; }

// The usual test: the difference over its estimated standard error.
double wald_p(const Side& a, const Side& b) {
  const double value = b.sums.weighted_bytes - a.sums.weighted_bytes;
  const double variance = a.sums.bytes_variance + b.sums.bytes_variance;
  return variance > 0 ? std::erfc(std::abs(value) / std::sqrt(2 * variance)) : 1;
}

const double kSamples[] = {0.1, 0.3, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 30, 60, 120, 300};

TEST(Level, OfTinyObjectsIsKept) {
  for (const double ratio : {1.0, 4.0, 16.0}) {
    for (const double alpha : kAlphas) {
      double worst_mid = 0, worst_exact = 0;
      for (const double samples : kSamples) {
        const TinyObjects coarse(kT, samples), fine(kT / ratio, samples * ratio);
        worst_mid = std::max(worst_mid, rejected(coarse, fine, mid_p, alpha));
        worst_exact = std::max(worst_exact, rejected(coarse, fine, exact_p, alpha));
      }
      EXPECT_LE(worst_mid, 1.1 * alpha) << ratio;
      EXPECT_LE(worst_exact, alpha) << ratio;
      EXPECT_GT(worst_mid, 0.75 * alpha) << ratio;  // It does reject.
    }
  }
}

// Shows that this file finds errors: the difference over its standard error rejects 30 times too
// often at .001 if intervals are 4 apart.
TEST(Level, IsNotKeptByTheUsualTest) {
  double worst = 0;
  for (const double samples : kSamples) {
    const TinyObjects coarse(kT, samples), fine(kT / 4, samples * 4);
    worst = std::max(worst, rejected(coarse, fine, wald_p, 1e-3));
  }
  EXPECT_GT(worst, 30e-3);
}

// One size, up to T, also if it is certain on the finer side.
TEST(Level, OfObjectsNearTheIntervalIsKeptToAThousandth) {
  for (const double ratio : {1.0, 4.0, 16.0}) {
    for (const double size : {0.1, 0.24, 0.5, 0.9, 0.99}) {
      Worst worst;
      for (const double samples : {0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0}) {
        worst.include(without_change(alike(size * kT, samples), ratio));
      }
      expect_level(worst, 3, std::to_string(ratio) + " " + std::to_string(size));
      EXPECT_LE(worst.exact[3], 1);
      EXPECT_LE(std::max(worst.growth_missed[0], worst.growth_missed[1]), 0.025) << size;
    }
  }
}

class Compositions {
 public:
  explicit Compositions(std::uint64_t seed, double largest) : generator_(seed), largest_(largest) {}

  std::vector<Alike> next() {
    std::vector<Alike> objects = alike(16, log_uniform(0.1, 8));
    const int groups = 1 + static_cast<int>(generator_() % 2);
    for (int i = 0; i < groups; ++i) {
      const double size = kT * log_uniform(0.2, largest_);
      objects.push_back({static_cast<Bytes>(size), static_cast<std::uint64_t>(log_uniform(1, 9))});
    }
    return objects;
  }

 private:
  double log_uniform(double low, double high) {
    return low * std::pow(high / low, static_cast<double>(generator_() >> 11) * 0x1p-53);
  }
  std::mt19937_64 generator_;
  double largest_;
};

TEST(Level, OfMixedSizesIsKeptToAThousandth) {
  for (const double ratio : {1.0, 4.0}) {
    Compositions compositions(5, 0.999);
    Worst worst;
    for (int i = 0; i < 12; ++i) worst.include(without_change(compositions.next(), ratio));
    expect_level(worst, 3, std::to_string(ratio));
    EXPECT_LE(std::max(worst.growth_missed[0], worst.growth_missed[1]), 0.025);
  }
}

// Without certain objects the next event must be as large as the largest weight.
TEST(Level, InPureModeIsKeptToAThousandth) {
  for (const double size : {1.2, 1.6, 2.0, 3.0, 4.0, 6.0, 8.0}) {
    Worst worst;
    for (const std::uint64_t count : {1U, 3U, 8U, 20U, 60U}) {
      worst.include(without_change({{static_cast<Bytes>(size * kT), count}}, 1, true));
    }
    expect_level(worst, 3, std::to_string(size));
  }
}

// An object that is large for the fine interval need not be so for the coarse one; the weights of
// the coarse side count anyway.
TEST(Level, InPureModeIsKeptBetweenDifferentIntervals) {
  for (const double size : {0.5, 0.9, 1.2, 2.0, 4.0}) {
    Worst worst;
    for (const std::uint64_t count : {1U, 3U, 8U, 20U}) {
      worst.include(without_change({{static_cast<Bytes>(size * kT), count}}, 4, true));
    }
    for (int i = 0; i < 4; ++i) EXPECT_LE(worst.mid[i], 1) << size << " alpha " << kAlphas[i];
  }
}

TEST(Mover, CoversChangesOfTinyObjects) {
  for (const double ratio : {1.0, 8.0}) {
    Worst worst;
    for (const double samples : {0.3, 1.0, 3.0, 10.0, 40.0}) {
      for (const double factor : {0.5, 0.8, 1.25, 2.0, 10.0}) {
        const auto before = alike(16, samples), after = alike(16, samples * factor);
        worst.include(shares_of(outcomes_of(before, {kT, kT}), outcomes_of(after, {kT / ratio, kT}),
                                bytes_of(before), bytes_of(after)));
      }
    }
    EXPECT_LE(worst.missed[0] + worst.missed[1], 0.05) << ratio;
    EXPECT_LE(std::max(worst.growth_missed[0], worst.growth_missed[1]), 0.025) << ratio;
  }
}

}  // namespace
}  // namespace geiger::estimation::difference_enumeration_test
