// Counts of objects if the possible sizes are known, by exact enumeration: the gain from this
// knowledge, and the cost of its absence.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "estimation/estimate.h"

namespace geiger::estimation::object_count_test {
namespace {

constexpr double kT = 65536;

struct Group {
  Bytes size;
  std::uint64_t count;
};

/// P(s samples of the group).
double probability_of(const Group& group, std::uint64_t s) {
  const double x = rate_of_interval(kT) * static_cast<double>(group.size);
  const auto n = static_cast<double>(group.count);
  const auto k = static_cast<double>(s);
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                  k * std::log(std::expm1(x)) - n * x);
}

struct Covered {
  double with_known_size = 0, given_the_sizes_seen = 0;
};

void tally(Covered& covered, const NodeSums& sums, Bytes least, double truth, double probability) {
  const auto holds = [&](const Estimate& e) {
    return e.interval.lo <= truth && truth <= e.interval.hi;
  };
  if (holds(estimate_objects_of_size_at_least(least, sums, 0.95))) {
    covered.with_known_size += probability;
  }
  if (holds(estimate_objects(sums, 0.95))) covered.given_the_sizes_seen += probability;
}

/// Small objects and large ones at one site; outcomes below 1e-10 are left out.
Covered covered_by(const Group& small, const Group& large) {
  Covered covered;
  const double lambda = rate_of_interval(kT);
  for (std::uint64_t s = 0; s <= std::min<std::uint64_t>(small.count, 90); ++s) {
    for (std::uint64_t l = 0; l <= std::min<std::uint64_t>(large.count, 90); ++l) {
      const double probability = probability_of(small, s) * probability_of(large, l);
      if (probability < 1e-10) continue;
      NodeSums sums;
      sums.could_have_sampled(kT);
      sums.add(small.size, lambda, s);
      sums.add(large.size, lambda, l);
      tally(covered, sums, small.size, static_cast<double>(small.count + large.count), probability);
    }
  }
  return covered;
}

// The upper limit depends on which objects may have been missed. A site with few samples of large
// objects may have any number of small ones.
TEST(ObjectsOfKnownSizes, AreCoveredForEveryMixture) {
  double lowest_seen = 1;
  for (const double small_samples : {0.1, 0.7, 2.0, 5.0}) {
    for (const double large_samples : {0.0, 0.5, 3.0, 12.0}) {
      const Group small{16, static_cast<std::uint64_t>(small_samples * kT / 16)};
      const Group large{32768, static_cast<std::uint64_t>(large_samples * kT / 32768)};
      const Covered covered = covered_by(small, large);
      EXPECT_GE(covered.with_known_size, 0.95) << small_samples << ' ' << large_samples;
      lowest_seen = std::min(lowest_seen, covered.given_the_sizes_seen);
    }
  }
  EXPECT_LT(lowest_seen, 0.1);  // Mostly only the large ones were seen.
}

TEST(ObjectsOfKnownSizes, AreBoundedWithoutSamples) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  const double bound = detection_limit(kT, 0.95);
  EXPECT_NEAR(estimate_objects_of_size_at_least(1024, sums, 0.95).interval.hi, bound / 1024, 2);
  EXPECT_NEAR(estimate_objects_of_size_at_least(1, sums, 0.95).interval.hi, bound, 3);
  EXPECT_EQ(estimate_objects_of_size_at_least(0, sums, 0.95).interval.hi,
            estimate_objects_of_size_at_least(1, sums, 0.95).interval.hi);
  EXPECT_EQ(estimate_objects_of_size_at_least(16, {}, 0.95).interval.hi, 0);
}

TEST(ObjectsOfKnownSizes, NeverNarrowTheInterval) {
  NodeSums sums;
  sums.add(64, rate_of_interval(kT), 3);
  const Interval seen = estimate_objects(sums, 0.95).interval;
  EXPECT_EQ(estimate_objects_of_size_at_least(4096, sums, 0.95).interval.hi, seen.hi);
  EXPECT_GT(estimate_objects_of_size_at_least(16, sums, 0.95).interval.hi, seen.hi);
  EXPECT_EQ(estimate_objects_of_size_at_least(16, sums, 0.95).interval.lo, seen.lo);
}

}  // namespace
}  // namespace geiger::estimation::object_count_test
