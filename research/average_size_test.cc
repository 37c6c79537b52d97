#include "research/average_size.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace geiger::research {
namespace {

constexpr double kMeanBytes = 65536;

struct Group {
  Bytes size;
  std::uint64_t count;
};

double truth_of(const std::vector<Group>& groups) {
  double bytes = 0;
  double objects = 0;
  for (const Group& group : groups) {
    bytes += static_cast<double>(group.size * group.count);
    objects += static_cast<double>(group.count);
  }
  return bytes / objects;
}

/// Shares of the recordings that have an average at all: whose interval holds the
/// true one, and whose interval is the bound.
struct SizeCoverage {
  double covered = 0, bounds = 0;
};

RatioSums recorded(const std::vector<Group>& groups, std::mt19937_64& generator) {
  const double lambda = estimation::rate_of_interval(kMeanBytes);
  RatioSums sums;
  sums.could_have_sampled(kMeanBytes);
  for (const Group& group : groups) {
    std::binomial_distribution<std::int64_t> sampled(
        static_cast<std::int64_t>(group.count),
        estimation::inclusion_probability(group.size, lambda));
    sums.add(group.size, lambda, static_cast<std::uint64_t>(sampled(generator)));
  }
  return sums;
}

SizeCoverage size_coverage_of(const std::vector<Group>& groups) {
  std::mt19937_64 generator(1);
  const double truth = truth_of(groups);
  int found = 0;
  SizeCoverage coverage;
  for (int run = 0; run < 4000; ++run) {
    const auto average = average_size(recorded(groups, generator), 0.95);
    if (!average.has_value()) continue;
    ++found;
    const estimation::Interval& interval = average.value().interval;
    if (average.value().is_bound) ++coverage.bounds;
    if (interval.lo <= truth && truth <= interval.hi) ++coverage.covered;
  }
  return {coverage.covered / found, coverage.bounds / found};
}

/// Two sizes with half of the bytes each; `expected` small samples in all.
std::vector<Group> two_sizes(double expected) {
  const auto half = static_cast<std::uint64_t>(expected * kMeanBytes / 2);
  return {{1024, half / 1024}, {32768, half / 32768 + 1}};
}

// 4,000 recordings each: one standard error of a coverage of .95 is .0034, and the
// limits below lie three of them under it.
TEST(AverageSize, IsBoundedForFewSamples) {
  for (const double expected : {1.0, 3.0, 10.0}) {
    EXPECT_GT(size_coverage_of(two_sizes(expected)).bounds, 0.9);
  }
  // Given the sizes seen only: the small ones were missed in one run of eight.
  EXPECT_NEAR(size_coverage_of(two_sizes(3)).covered, 0.876, 0.016);
}

TEST(AverageSize, HasItsIntervalFromTheDeltaMethod) {
  for (const double expected : {60.0, 200.0}) {
    const SizeCoverage found = size_coverage_of(two_sizes(expected));
    EXPECT_EQ(found.bounds, 0);
    EXPECT_GE(found.covered, 0.94) << expected;
  }
}

// One size: the average is known, whatever the number of objects.
TEST(AverageSize, IsCertainForOneSize) {
  RatioSums sums;
  sums.add(640, estimation::rate_of_interval(kMeanBytes), 50);
  const AverageSize found = average_size(sums, 0.95).value();
  EXPECT_FALSE(found.is_bound);
  EXPECT_NEAR(found.value, 640, 1e-9);
  EXPECT_NEAR(found.interval.lo, 640, 1e-3);
  EXPECT_NEAR(found.interval.hi, 640, 1e-3);
}

TEST(AverageSize, CountsCertainObjects) {
  RatioSums sums;
  sums.add_certain(100000, 3);
  const AverageSize found = average_size(sums, 0.95).value();
  EXPECT_EQ(found.value, 100000);
  EXPECT_EQ(found.interval.lo, 100000);
  EXPECT_EQ(found.interval.hi, 100000);
  EXPECT_FALSE(found.is_bound);
  sums.could_have_sampled(kMeanBytes);
  EXPECT_GT(average_size(sums, 0.95).value().interval.hi, 100000);
  EXPECT_LT(average_size(sums, 0.95).value().interval.lo, 10);
}

TEST(AverageSize, RefusesWhatHasNone) {
  EXPECT_EQ(average_size({}, 0.95).error(), estimation::InputError::kCount);
  RatioSums sums;
  sums.add(16, estimation::rate_of_interval(kMeanBytes));
  EXPECT_EQ(average_size(sums, 1).error(), estimation::InputError::kLevel);
  EXPECT_EQ(average_size(sums, std::nan("")).error(), estimation::InputError::kLevel);
}

}  // namespace
}  // namespace geiger::research
