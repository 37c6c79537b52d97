// The coverage of the interval, computed without simulation: every outcome of a
// composition of objects has a known binomial probability, so the share of
// outcomes whose interval contains the truth is exact up to the outcomes left
// out (below 1e-9 in all). The compositions are random with a fixed seed, over
// sizes from tiny to ten intervals and over intervals mixed within one node.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/test_outcomes.h"

namespace geiger::estimation::ffsg_enumeration_test {
namespace {

constexpr double kT = 65536;
constexpr double kLevels[] = {0.9, 0.95, 0.99};
constexpr double kRatios[] = {0.1, 0.5, 1, 3};  ///< Of a value to its object's size.

// `count` objects of `size` bytes that were tried with their own interval, and of
// which `ratio` times their size is summed (their resident bytes, their overhead).
struct Group {
  Bytes size;
  std::uint64_t count;
  double interval;
  double ratio = 1;

  [[nodiscard]] Bytes value() const {
    return static_cast<Bytes>(std::llround(ratio * static_cast<double>(size)));
  }
};

std::vector<SampledCount> outcomes_of(const Group& group) {
  const double lambda_z = rate_of_interval(group.interval) * static_cast<double>(group.size);
  return sampled_counts(group.count, lambda_z, 1e-11);
}

// Shares of the outcomes, per level.
struct Shares {
  double listed = 0;
  double covered[3] = {};         ///< Total form, all outcomes.
  double covered_listed[3] = {};  ///< Listed form, outcomes with s >= 1.
  double below[3] = {};           ///< Total form: interval below the truth.
  double above[3] = {};
};

void tally(Shares& shares, const NodeSums& sums, double truth, double probability) {
  if (sums.samples > 0) shares.listed += probability;
  for (int i = 0; i < 3; ++i) {
    const Interval total = estimate_bytes(sums, kLevels[i]).interval;
    if (total.hi < truth) shares.below[i] += probability;
    if (total.lo > truth) shares.above[i] += probability;
    if (total.lo <= truth && truth <= total.hi) shares.covered[i] += probability;
    if (sums.samples == 0) continue;
    const Interval listed = estimate_bytes(sums, kLevels[i], Form::kListed).interval;
    if (listed.lo <= truth && truth <= listed.hi) shares.covered_listed[i] += probability;
  }
}

void enumerate(Shares& shares, const std::vector<Group>& groups,
               const std::vector<std::vector<SampledCount>>& outcomes, std::size_t next,
               const NodeSums& sums, double truth, double probability) {
  if (probability < 1e-12) return;
  if (next == groups.size()) return tally(shares, sums, truth, probability);
  for (const SampledCount& outcome : outcomes[next]) {
    NodeSums extended = sums;
    extended.add(groups[next].size, rate_of_interval(groups[next].interval), outcome.samples, 1.0,
                 groups[next].value());
    enumerate(shares, groups, outcomes, next + 1, extended, truth,
              probability * outcome.probability);
  }
}

// `largest_ratio`: of value to size in the whole profile.
Shares shares_of(const std::vector<Group>& groups, double largest_ratio = 1) {
  Shares shares;
  NodeSums start;
  double truth = 0;
  std::vector<std::vector<SampledCount>> outcomes;
  for (const Group& group : groups) {
    start.could_have_sampled(group.interval * largest_ratio);
    truth += static_cast<double>(group.value()) * static_cast<double>(group.count);
    outcomes.push_back(outcomes_of(group));
  }
  enumerate(shares, groups, outcomes, 0, start, truth, 1);
  return shares;
}

// Random compositions: one group of small objects with up to 30 expected
// samples, up to two groups of a few large ones.
class Compositions {
 public:
  Compositions(std::uint64_t seed, double largest_size, bool has_mixed_intervals,
               bool has_values = false)
      : generator_(seed),
        largest_size_(largest_size),
        has_mixed_(has_mixed_intervals),
        has_values_(has_values) {}

  std::vector<Group> next() {
    std::vector<Group> groups;
    if (uniform() < 0.8) groups.push_back(small());
    const int large_groups = static_cast<int>(uniform() * 3);
    for (int i = 0; i < large_groups || groups.empty(); ++i) groups.push_back(large());
    return groups;
  }

 private:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }
  double ratio() { return has_values_ ? kRatios[static_cast<int>(uniform() * 4)] : 1; }
  double interval() { return has_mixed_ ? kT / std::exp2(std::floor(uniform() * 6)) : kT; }

  Group small() {
    const double t = interval();
    const auto size = static_cast<Bytes>(log_uniform(16, 2048));
    const double expected = log_uniform(0.05, 30);
    return {size, static_cast<std::uint64_t>(1 + expected * t / static_cast<double>(size)), t,
            ratio()};
  }
  Group large() {
    const double t = interval();
    return {static_cast<Bytes>(t * log_uniform(0.25, largest_size_)),
            static_cast<std::uint64_t>(log_uniform(1, 20)), t, ratio()};
  }

  std::mt19937_64 generator_;
  double largest_size_;
  bool has_mixed_;
  bool has_values_;
};

// The extremes over many compositions.
struct Worst {
  double covered[3] = {1, 1, 1};
  double covered_listed[3] = {1, 1, 1};
  double below[3] = {};
  double above[3] = {};

  void include(const Shares& shares) {
    for (int i = 0; i < 3; ++i) {
      covered[i] = std::min(covered[i], shares.covered[i]);
      below[i] = std::max(below[i], shares.below[i]);
      above[i] = std::max(above[i], shares.above[i]);
      const double share = shares.covered_listed[i] / shares.listed;
      if (shares.listed > 1e-3) covered_listed[i] = std::min(covered_listed[i], share);
    }
  }
};

Worst worst_of(Compositions compositions, int count, double largest_ratio = 1) {
  Worst worst;
  for (int i = 0; i < count; ++i) worst.include(shares_of(compositions.next(), largest_ratio));
  return worst;
}

// `slack`: how far below its level an interval may fall.
void expect_nominal(const Worst& worst, double slack = 0) {
  for (int level = 0; level < 3; ++level) {
    EXPECT_GE(worst.covered[level], kLevels[level] - slack);
    EXPECT_GE(worst.covered_listed[level], kLevels[level] - slack);
  }
}

// As recorded by default: objects of at least the interval are certain. At 95 and 99 % each limit
// may be used alone; at 90 % the lower one misses up to .061.
TEST(FfsgCoverage, IsNeverBelowTheLevelAsRecorded) {
  const Worst worst = worst_of(Compositions(1, 0.999, false), 1000);
  expect_nominal(worst);
  for (int level = 1; level < 3; ++level) {
    EXPECT_LE(worst.below[level], (1 - kLevels[level]) / 2);
    EXPECT_LE(worst.above[level], (1 - kLevels[level]) / 2);
  }
}

// Hosts or epochs with intervals up to 32 times apart. At 90 % one composition in thousands falls
// up to half a percent short. Catches a listed form that assumes that the largest interval listed
// the site (.79 instead of .95).
TEST(FfsgCoverage, IsNeverBelowTheLevelForMergedIntervals) {
  const Worst worst = worst_of(Compositions(3, 0.999, true), 1000);
  expect_nominal(worst, 0.002);
  for (int level = 1; level < 3; ++level) {
    EXPECT_GE(worst.covered[level], kLevels[level]);
    EXPECT_GE(worst.covered_listed[level], kLevels[level]);
  }
}

// Without certain objects a site may consist of a dozen objects of 6 to 8 T, of
// which one is missed with a probability just above alpha without a trace in the sums: the one
// known weakness, .4 % at the levels 90 and 99.
TEST(FfsgCoverage, IsNearTheLevelInPureMode) {
  const Worst worst = worst_of(Compositions(2, 10, false), 600);
  expect_nominal(worst, 0.004);
  EXPECT_GE(worst.covered[1], 0.95);
}

// Sums of values from a tenth to three times the size, mixed within one node; E uses the largest
// ratio of the profile.
TEST(FfsgCoverage, IsNeverBelowTheLevelForValues) {
  const Worst worst = worst_of(Compositions(4, 0.999, false, true), 1000, 3);
  expect_nominal(worst, 0.002);
  for (int level = 1; level < 3; ++level) {
    EXPECT_GE(worst.covered[level], kLevels[level]);
    EXPECT_GE(worst.covered_listed[level], kLevels[level]);
  }
}

// Why E must use it: for a node without samples whose objects are worth three times their size, the
// limit would be 3.7 T, which it exceeds with a probability of e^(-1.23).
TEST(FfsgCoverage, FallsShortForValuesWhoseRatioIsNotStated) {
  const auto count = static_cast<std::uint64_t>(1.25 * kT / 64);
  const std::vector<Group> worth_more{{64, count, kT, 3}};
  EXPECT_LT(shares_of(worth_more, 1).covered[1], 0.75);
  EXPECT_GE(shares_of(worth_more, 3).covered[1], 0.95);
}

// One kind of object, in small steps of the number of expected samples: the binomial's steps make
// coverage oscillate most there.
TEST(FfsgCoverage, IsNeverBelowTheLevelForOneSize) {
  Worst worst;
  for (const double size : {16.0, 0.3 * kT, 0.9 * kT, 2 * kT, 5 * kT}) {
    for (std::uint64_t step = 1; step < 60; ++step) {
      const double bytes = std::max(size, kT / 8) * static_cast<double>(step);
      const auto count = static_cast<std::uint64_t>(std::ceil(bytes / size));
      worst.include(shares_of({{static_cast<Bytes>(size), count, kT}}));
    }
  }
  expect_nominal(worst);
}

}  // namespace
}  // namespace geiger::estimation::ffsg_enumeration_test
