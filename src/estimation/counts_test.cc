#include "estimation/counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace geiger::estimation::counts_test {
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

Counts merged(Counts counts, const Counts& more) {
  counts.insert(counts.end(), more.begin(), more.end());
  make_canonical(counts);
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

// Objects of one size and rate differ if another value of them is summed.
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

// Parts of one set of samples, merged in any order and grouping.
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

// The sums themselves do not, which is why there are counts.
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

}  // namespace
}  // namespace geiger::estimation::counts_test
