// Totals of partly recorded fleets. Seeds are fixed. A share of .95 of 2000 fleets has a standard
// error of .0049; limits leave 4.5 of them to what is promised: for a fresh seed each is passed
// with a probability below 1e-5.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

#include "estimation/runs.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::fleet_total_test {
namespace {

constexpr double kT = 65536;
constexpr double kError = 0.0049;

TEST(FleetTotal, OfAllHostsIsTheEstimateOfTheirSum) {
  std::vector<NodeSums> hosts{tiny(3, kT), tiny(0, kT), tiny(17, kT)};
  for (NodeSums& host : hosts) host.bytes_seen = 16.0 * static_cast<double>(host.samples);
  hosts[1].add_certain(1'000'000);
  NodeSums all;
  for (const NodeSums& host : hosts) all.merge(host);
  const Estimate sum = estimate_bytes(all, 0.95);
  const auto total = fleet_total(hosts, {}, 3, 0.95);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->recorded, 1);
  EXPECT_FALSE(total->is_of_few);
  EXPECT_NEAR(total->bytes.value, sum.value, 1e-6);
  EXPECT_NEAR(total->bytes.interval.lo, sum.interval.lo, 1e-6 * sum.value);
  EXPECT_NEAR(total->bytes.interval.hi, sum.interval.hi, 1e-6 * sum.value);
  EXPECT_NEAR(total->bytes.variance, sum.variance, 1e-9 * sum.variance);
}

TEST(FleetTotal, NeedsTwoHostsToSeeHowTheyVary) {
  EXPECT_FALSE(fleet_total({}, {}, 10, 0.95));
  EXPECT_FALSE(fleet_total(std::vector{tiny(5, kT)}, {}, 10, 0.95));
  EXPECT_TRUE(fleet_total(std::vector{tiny(5, kT)}, {}, 1, 0.95));
  EXPECT_TRUE(fleet_total(std::vector{tiny(5, kT), tiny(7, kT)}, {}, 10, 0.95)->is_of_few);
}

TEST(FleetTotal, OfNothingSeenIsBounded) {
  const auto total = fleet_total(std::vector(40, tiny(0, kT)), {}, 400, 0.95);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->bytes.value, 0);
  EXPECT_EQ(total->bytes.interval.lo, 0);
  EXPECT_NEAR(total->bytes.interval.hi, 10 * detection_limit(kT, 0.95), 1e-6 * kT);
  EXPECT_FALSE(total->is_of_few);
}

TEST(FleetTotal, LeavesOpenWhatIsNotKnown) {
  std::vector<NodeSums> hosts(40, tiny(9, kT));
  const double without = fleet_total(hosts, {}, 400, 0.95)->bytes.interval.hi;
  for (NodeSums& host : hosts) host.leave_open(tiny(9, kT));
  const auto with = fleet_total(hosts, {}, 400, 0.95);
  EXPECT_EQ(with->bytes.value, 3600 * kT);
  EXPECT_GT(with->bytes.interval.hi, 1.9 * without);
}

TEST(FleetTotal, IsFiniteWhateverItGets) {
  std::mt19937_64 generator(1);
  const double values[] = {0, 1e-300, 1, 1e12, 1e160, 1e308, -1, std::nan("")};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  for (int i = 0; i < 5000; ++i) {
    std::vector<NodeSums> hosts(2 + generator() % 3);
    std::vector<double> exposures;
    for (NodeSums& host : hosts) {
      for (double* const field : {&host.certain_bytes, &host.bytes_seen, &host.weighted_bytes,
                                  &host.bytes_variance, &host.largest_interval}) {
        *field = any();
      }
      exposures.push_back(std::array{0.0, 1.0, 1e-9, 1e9, std::nan("")}[generator() % 5]);
    }
    const auto total = fleet_total(hosts, exposures, any(), std::array{0.95, 0.0, 1.0}[i % 3]);
    ASSERT_TRUE(total) << i;
    const Estimate& bytes = total->bytes;
    ASSERT_TRUE(std::isfinite(bytes.value) && bytes.interval.lo <= bytes.value) << i;
    ASSERT_TRUE(std::isfinite(bytes.interval.hi) && bytes.value <= bytes.interval.hi) << i;
  }
}

struct Fleet {
  int recorded = 30;
  double samples = 5;      ///< Of a host, on average.
  double deviation = 0.3;  ///< Of the bytes of hosts, relative.
  double spread = 0;       ///< Sigma of the lognormal law of their exposures.
};

struct Coverage {
  double ours = 0;
  double of_sampling = 0;  ///< FF-SG of the recorded hosts, times all over recorded.
  double width = 0;        ///< Mean, relative to the truth.
};

Coverage coverage_of(const Fleet& fleet) {
  constexpr int kHosts = 2000, kFleets = 2000;
  std::mt19937_64 generator(41);
  std::normal_distribution<double> normal;
  const double sigma = std::sqrt(std::log1p(fleet.deviation * fleet.deviation));
  Coverage coverage;
  for (int i = 0; i < kFleets; ++i) {
    double truth = 0, exposure = 0;
    NodeSums added;
    std::vector<NodeSums> hosts;
    std::vector<double> exposures;
    for (int host = 0; host < fleet.recorded; ++host) {
      const double hours = std::exp(fleet.spread * normal(generator));
      const double mean =
          hours * fleet.samples * std::exp(sigma * normal(generator) - sigma * sigma / 2);
      truth += mean * kT;
      exposure += hours;
      hosts.push_back(tiny(std::poisson_distribution<std::uint64_t>(mean)(generator), kT));
      exposures.push_back(hours);
      added.merge(hosts.back());
    }
    // The others together: a thousand or more are normal, given hours of one length.
    const double others = kHosts - fleet.recorded;
    exposure += others;
    truth +=
        kT * fleet.samples * (others + std::sqrt(others) * fleet.deviation * normal(generator));
    const auto total = fleet_total(hosts, exposures, exposure, 0.95);
    const auto covers = [](const Interval& interval, double value) {
      return interval.lo <= value && value <= interval.hi ? 1.0 / kFleets : 0;
    };
    coverage.ours += covers(total->bytes.interval, truth);
    coverage.of_sampling += covers(estimate_bytes(added, 0.95).interval, truth * total->recorded);
    coverage.width += (total->bytes.interval.hi - total->bytes.interval.lo) / truth / kFleets;
  }
  return coverage;
}

TEST(FleetTotalSimulation, CoversTheFleet) {
  for (const int recorded : {10, 30, 200, 1000}) {
    for (const double samples : {0.2, 5.0, 50.0}) {
      const Coverage coverage = coverage_of({.recorded = recorded, .samples = samples});
      EXPECT_GE(coverage.ours, 0.95 - 4.5 * kError) << recorded << " " << samples;
      if (samples >= 50) {
        EXPECT_LE(coverage.of_sampling, 0.8) << recorded;
      }
    }
  }
}

// Hosts that vary by 100 % are skew: a mean of few of them is too small too often.
TEST(FleetTotalSimulation, CoversLessOftenForFewHostsThatVaryMuch) {
  const Coverage few = coverage_of({.recorded = 10, .samples = 50, .deviation = 1});
  EXPECT_GE(few.ours, 0.86);
  const Coverage enough = coverage_of({.recorded = 30, .samples = 50, .deviation = 1});
  EXPECT_GE(enough.ours, 0.92 - 4.5 * kError * 1.3);
  const Coverage many = coverage_of({.recorded = 200, .samples = 50, .deviation = 1});
  EXPECT_GE(many.ours, 0.95 - 4.5 * kError);
  EXPECT_LE(many.of_sampling, 0.4);
}

TEST(FleetTotalSimulation, AllowsForHoursOfDifferentLengths) {
  for (const int recorded : {10, 30, 200}) {
    const Coverage coverage = coverage_of({.recorded = recorded, .samples = 20, .spread = 1});
    EXPECT_GE(coverage.ours, 0.95 - 4.5 * kError) << recorded;
  }
}

// Half of the fleet: for the recorded hosts only the sampling error is left.
TEST(FleetTotalSimulation, IsNoWiderThanItNeedsToBe) {
  const Coverage half = coverage_of({.recorded = 1000, .samples = 50});
  EXPECT_LE(half.ours, 0.95 + 4.5 * kError);
  EXPECT_LE(half.width, 0.035);
}

}  // namespace
}  // namespace geiger::estimation::fleet_total_test
