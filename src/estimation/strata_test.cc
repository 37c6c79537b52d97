// Strata. Seeds are fixed. A share of .05 of 3000 comparisons has a standard error of .004; limits
// leave 4.5 of them: for a fresh seed each is passed with a probability below 1e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimation/runs.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::strata_test {
namespace {

constexpr double kT = 65536;
constexpr double kSlack = 4.5 * 0.004;

Stratum stratum(double value, double half_width, double p, double before, double after) {
  RunDifference difference;
  difference.value = value;
  difference.interval = {value - half_width, value + half_width};
  difference.p_value = p;
  return {difference, before, after};
}

TEST(Strata, OfOneAreTheStratum) {
  const StratifiedDifference one = combined(std::vector{stratum(5, 2, 0.03, 10, 40)});
  EXPECT_EQ(one.value, 5);
  EXPECT_EQ(one.interval.lo, 3);
  EXPECT_EQ(one.interval.hi, 7);
  EXPECT_NEAR(one.p_value, 0.03, 1e-12);
  EXPECT_EQ(one.matched, 1);
}

TEST(Strata, WeighByTheExposureOfBothSides) {
  const StratifiedDifference both =
      combined(std::vector{stratum(1, 1, 0.5, 10, 10), stratum(4, 1, 0.5, 30, 6)});
  EXPECT_DOUBLE_EQ(both.value, (1 + 4) / 2.0);
  EXPECT_DOUBLE_EQ(both.interval.hi, 2.5 + std::sqrt(0.5));
}

TEST(Strata, OfOneSideSayNothing) {
  const StratifiedDifference part =
      combined(std::vector{stratum(1, 1, 0.04, 10, 10), stratum(400, 1, 0, 0, 60)});
  EXPECT_EQ(part.value, 1);
  EXPECT_NEAR(part.p_value, 0.04, 1e-12);
  EXPECT_DOUBLE_EQ(part.matched, 0.25);
  EXPECT_EQ(combined(std::vector{stratum(400, 1, 0, 0, 60)}).p_value, 1);
  EXPECT_EQ(combined({}).p_value, 1);
}

TEST(Strata, ThatDisagreeCancel) {
  const StratifiedDifference both =
      combined(std::vector{stratum(3, 2, 0.01, 10, 10), stratum(-3, 2, 0.01, 10, 10)});
  EXPECT_EQ(both.value, 0);
  EXPECT_NEAR(both.p_value, 1, 1e-12);
}

/// Hosts of two sizes, of which the sides have different parts.
struct Fleet {
  std::vector<int> before, after;  ///< Hosts by stratum.
  std::vector<double> samples;     ///< Of a host, by stratum.
  double growth = 0;
};

class Simulation {
 public:
  explicit Simulation(const Fleet& fleet) : fleet_(fleet) {}

  std::vector<SiteRuns> next() {
    std::vector<SiteRuns> strata(fleet_.samples.size());
    for (std::size_t i = 0; i < strata.size(); ++i) {
      for (int j = 0; j < fleet_.before[i]; ++j) strata[i].before.push_back(run(i, 1));
      for (int j = 0; j < fleet_.after[i]; ++j)
        strata[i].after.push_back(run(i, 1 + fleet_.growth));
    }
    return strata;
  }

 private:
  NodeSums run(std::size_t stratum, double factor) {
    const double load = std::exp(0.3 * normal_(generator_) - 0.045);
    std::poisson_distribution<std::uint64_t> law(fleet_.samples[stratum] * load * factor);
    return tiny(law(generator_), kT);
  }

  Fleet fleet_;
  std::mt19937_64 generator_{53};
  std::normal_distribution<double> normal_;
};

struct Shares {
  double rejected = 0, covered = 0, pooled_rejected = 0;
};

Shares shares_of(const Fleet& fleet) {
  constexpr int kComparisons = 3000;
  Simulation simulation(fleet);
  Shares shares;
  for (int i = 0; i < kComparisons; ++i) {
    const std::vector<SiteRuns> runs = simulation.next();
    std::vector<Stratum> strata;
    SiteRuns pooled;
    double truth = 0, weights = 0;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      strata.push_back({compare_runs({&runs[j], 1}, 0.95).sites[0],
                        static_cast<double>(runs[j].before.size()),
                        static_cast<double>(runs[j].after.size())});
      const double weight = weight_of(strata.back());
      truth += weight * fleet.samples[j] * kT * fleet.growth;
      weights += weight;
      pooled.before.insert(pooled.before.end(), runs[j].before.begin(), runs[j].before.end());
      pooled.after.insert(pooled.after.end(), runs[j].after.begin(), runs[j].after.end());
    }
    truth /= weights;
    const StratifiedDifference found = combined(strata);
    shares.rejected += (found.p_value <= 0.05) / static_cast<double>(kComparisons);
    shares.covered += (found.interval.lo <= truth && truth <= found.interval.hi) /
                      static_cast<double>(kComparisons);
    shares.pooled_rejected += (compare_runs({&pooled, 1}, 0.95).sites[0].p_value <= 0.05) /
                              static_cast<double>(kComparisons);
  }
  return shares;
}

// The new release went to the large hosts first, which looks like growth if all hosts are pooled.
TEST(StrataSimulation, KeepTheirLevelWhereSidesHaveOtherHosts) {
  for (const Fleet& fleet :
       {Fleet{{30, 6}, {10, 20}, {40, 320}}, Fleet{{8, 8}, {8, 8}, {40, 320}},
        Fleet{{20, 5, 3}, {5, 20, 3}, {1, 8, 100}}, Fleet{{3, 3}, {3, 3}, {2, 2}}}) {
    const Shares shares = shares_of(fleet);
    EXPECT_LE(shares.rejected, 0.05 + kSlack) << fleet.samples[0];
    EXPECT_GE(shares.covered, 0.95 - kSlack) << fleet.samples[0];
  }
  EXPECT_GE(shares_of({{30, 6}, {10, 20}, {40, 320}}).pooled_rejected, 0.9);
}

TEST(StrataSimulation, CoverAndFindAChange) {
  const Shares shares = shares_of({{30, 10}, {10, 30}, {40, 320}, 0.4});
  EXPECT_GE(shares.covered, 0.95 - kSlack);
  EXPECT_GE(shares.rejected, 0.7);
}

}  // namespace
}  // namespace geiger::estimation::strata_test
