// The statistical part has fixed seeds; its limits hold for a fresh seed with
// probability 1 - 1e-6 per comparison (|z| < 5).
#include "estimation/counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "estimation/thinning.h"

namespace geiger::estimation {
namespace {

constexpr double kT = 64;

bool has_equal_bits(const NodeSums& a, const NodeSums& b) {
  static_assert(sizeof(NodeSums) % sizeof(double) == 0, "no padding");
  return std::memcmp(&a, &b, sizeof a) == 0;
}

Counts some_counts(std::mt19937_64& generator, int number) {
  Counts counts;
  for (int i = 0; i < number; ++i) {
    const double interval = std::exp2(static_cast<double>(generator() % 12));
    counts.push_back({1 + generator() % 5000, rate_of_interval(interval), generator() % 5});
  }
  return counts;
}

TEST(Counts, BecomeCanonical) {
  Counts counts{{8, 0.1, 2}, {4, 0.2, 1}, {8, 0.1, 3},          {4, 0.1, 7}, {0, 0.1, 5},
                {9, 0.1, 0}, {9, 0, 4},   {4, kCertainRate, 2}, {9, -1, 1},  {9, std::nan(""), 1}};
  make_canonical(counts);
  EXPECT_EQ(counts,
            (Counts{{0, 0.1, 5}, {4, 0.1, 7}, {4, 0.2, 1}, {4, kCertainRate, 2}, {8, 0.1, 5}}));
  Counts none;
  make_canonical(none);
  EXPECT_TRUE(none.empty());
}

// Objects of one size and rate are not alike if something else is summed of them.
TEST(Counts, KeepValuesApart) {
  Counts counts{{8, 0.1, 2, 5}, {8, 0.1, 1}, {8, 0.1, 3, 5}, {8, 0.1, 4, 0}, {8, 0.1, 7, 2}};
  make_canonical(counts);
  EXPECT_EQ(counts, (Counts{{8, 0.1, 7, 2}, {8, 0.1, 5, 5}, {8, 0.1, 1}}));
  const Counts both = merged(counts, Counts{{8, 0.1, 1, 2}, {8, 0.1, 1, 3}});
  EXPECT_EQ(both, (Counts{{8, 0.1, 8, 2}, {8, 0.1, 1, 3}, {8, 0.1, 5, 5}, {8, 0.1, 1}}));
  NodeSums expected;
  expected.add(8, 0.1, 8, 1.0, 2);
  expected.add(8, 0.1, 1, 1.0, 3);
  expected.add(8, 0.1, 5, 1.0, 5);
  expected.add(8, 0.1, 1);
  EXPECT_TRUE(has_equal_bits(sums_of(both), expected));
}

// Parts of one set of samples, merged in any order and any grouping.
TEST(Counts, GiveTheSameBitsHoweverTheyCameTogether) {
  std::mt19937_64 generator(1);
  std::vector<Counts> parts;
  for (int i = 0; i < 12; ++i) parts.push_back(some_counts(generator, 200));
  const auto merged_in_order = [](std::vector<Counts> order) {
    Counts all;
    for (Counts& part : order) {
      make_canonical(part);
      all = merged(all, part);
    }
    return all;
  };
  const Counts expected = merged_in_order(parts);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(parts, generator);
    EXPECT_EQ(merged_in_order(parts), expected);
    EXPECT_TRUE(has_equal_bits(sums_of(merged_in_order(parts)), sums_of(expected)));
  }
  // Two halves merged on their own, as two hosts would.
  const Counts half = merged_in_order({parts.begin(), parts.begin() + 5});
  const Counts rest = merged_in_order({parts.begin() + 5, parts.end()});
  EXPECT_EQ(merged(rest, half), expected);
}

// Not so the sums themselves: what the counts are for.
TEST(Counts, DoWhatSumsCannot) {
  std::mt19937_64 generator(2);
  const Counts counts = some_counts(generator, 300);
  NodeSums forwards, backwards;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Count& first = counts[i];
    const Count& last = counts[counts.size() - 1 - i];
    forwards.add(first.size, first.lambda, first.count);
    backwards.add(last.size, last.lambda, last.count);
  }
  EXPECT_FALSE(has_equal_bits(forwards, backwards));
}

TEST(SumsOf, AreThoseOfTheSamples) {
  const Counts counts{
      {16, rate_of_interval(kT), 5}, {48, rate_of_interval(2 * kT), 2}, {100, kCertainRate, 3}};
  NodeSums expected;
  expected.add(16, rate_of_interval(kT), 5);
  expected.add(48, rate_of_interval(2 * kT), 2);
  expected.add_certain(100, 3);
  EXPECT_TRUE(has_equal_bits(sums_of(counts), expected));
}

double binomial(std::uint64_t n, std::uint64_t k, double p) {
  const auto a = static_cast<double>(n), b = static_cast<double>(k);
  return std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) +
                  b * std::log(p) + (a - b) * std::log1p(-p));
}

// n objects of one size recorded at `from` and thinned to `to` must be counted as
// often as n objects recorded at `to`: chi-square against the enumerated law.
TEST(Thinned, HasTheLawOfARecordingAtTheLargerInterval) {
  constexpr std::uint64_t kObjects = 12;
  constexpr int kRepeats = 40000;
  std::mt19937_64 generator(3);
  for (const Bytes size : {Bytes{3}, Bytes{40}, Bytes{63}, Bytes{200}}) {
    const double from = rate_of_interval(kT), to = rate_of_interval(4 * kT);
    const double pi = inclusion_probability(size, to);
    const bool is_certain = static_cast<double>(size) >= kT;
    std::binomial_distribution<std::uint64_t> recorded(
        kObjects, is_certain ? 1.0 : inclusion_probability(size, from));
    std::map<std::uint64_t, double> seen;
    for (int i = 0; i < kRepeats; ++i) {
      Counts counts{{size, is_certain ? kCertainRate : from, recorded(generator)}};
      make_canonical(counts);
      const Counts kept = thinned(counts, 4 * kT, false, generator());
      seen[kept.empty() ? 0 : kept[0].count] += 1;
      if (!kept.empty()) {
        ASSERT_EQ(kept[0].lambda, to);
      }
    }
    for (std::uint64_t k = 0; k <= kObjects; ++k) {
      const double p = binomial(kObjects, k, pi);
      if (p * kRepeats < 20) continue;
      EXPECT_LT(std::abs(seen[k] - p * kRepeats) / std::sqrt(p * (1 - p) * kRepeats), 5)
          << size << " " << k;
    }
  }
}

// Each size of a node is thinned independently of its other sizes.
TEST(Thinned, TreatsEachSizeByItself) {
  const Counts one{{16, rate_of_interval(kT), 1000}};
  const Counts two{{16, rate_of_interval(kT), 1000}, {32, rate_of_interval(kT), 50}};
  EXPECT_EQ(thinned(one, 4 * kT, false, 9)[0], thinned(two, 4 * kT, false, 9)[0]);
  EXPECT_NE(thinned(one, 4 * kT, false, 9), thinned(one, 4 * kT, false, 10));
}

// Whether an object stays depends on its size alone; values of one size do not share
// their draws either.
TEST(Thinned, KeepsValues) {
  const double from = rate_of_interval(kT);
  const Counts counts{{16, from, 1000, 4}, {16, from, 1000, 8}, {16, from, 1000}};
  const Counts kept = thinned(counts, 4 * kT, false, 9);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].value, 4U);
  EXPECT_EQ(kept[1].value, 8U);
  EXPECT_EQ(kept[2].value, kWholeSize);
  EXPECT_FALSE(kept[0].count == kept[1].count && kept[1].count == kept[2].count);
  const double keep = keep_probability(16, from, rate_of_interval(4 * kT));
  for (const Count& count : kept) {
    const double z =
        (static_cast<double>(count.count) - 1000 * keep) / std::sqrt(1000 * keep * (1 - keep));
    EXPECT_LT(std::abs(z), 5) << count.value;
  }
}

TEST(Thinned, KeepsWhatTheIntervalLetsPass) {
  const Counts counts{
      {100, kCertainRate, 3}, {200, rate_of_interval(1000), 2}, {5000, kCertainRate, 1}};
  EXPECT_EQ(thinned(counts, 100, false, 1), counts);
  EXPECT_EQ(thinned(counts, 1, true, 1), counts);
  const Counts kept = thinned(counts, 4000, false, 1);
  EXPECT_EQ(kept.back(), counts.back());
  // Pure: put to trial, which an object of 5 T hardly ever escapes.
  const Counts pure = thinned(counts, 1000, true, 1);
  EXPECT_EQ(pure.back(), (Count{5000, rate_of_interval(1000), 1}));
}

}  // namespace
}  // namespace geiger::estimation
