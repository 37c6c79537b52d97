// Seeds are fixed. Limits on shares leave five standard errors to the level: a test
// that keeps it fails for a fresh seed with a probability below 1e-6.
#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

#include "estimation/difference.h"
#include "estimation/runs.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::dispersion_test {
namespace {

constexpr double kT = 65536;

// One site alone: the classical t-test if the runs vary more than the sampling.
TEST(CompareRuns, IsStudentsTestForOneSite) {
  const SiteRuns site{{certain(100), certain(110), certain(120)},
                      {certain(130), certain(150), certain(140)}};
  const RunComparison result = compare_runs({&site, 1}, 0.95);
  ASSERT_TRUE(result.sees_runs);
  const RunDifference& row = result.sites[0];
  EXPECT_EQ(row.value, 30);
  EXPECT_EQ(row.degrees, 4);
  const double error = std::sqrt(100.0 * 2 / 3);
  const boost::math::students_t law(4);
  EXPECT_NEAR(row.p_value, 2 * cdf(complement(law, 30 / error)), 1e-12);
  EXPECT_NEAR(row.interval.hi, 30 + quantile(law, 0.975) * error, 1e-9);
  EXPECT_NEAR(row.interval.lo, 30 - quantile(law, 0.975) * error, 1e-9);
}

TEST(CompareRuns, NeverSaysMoreThanTheSamplingAllows) {
  // Runs that happen to agree exactly: no variation seen, but the error of 4 samples remains.
  const SiteRuns site{{tiny(4, kT), tiny(4, kT), tiny(4, kT)},
                      {tiny(8, kT), tiny(8, kT), tiny(8, kT)}};
  const RunDifference row = compare_runs({&site, 1}, 0.95).sites[0];
  const Difference sampling = difference({.sums = tiny(12, kT), .exposure = 3},
                                         {.sums = tiny(24, kT), .exposure = 3}, 0.95);
  EXPECT_GE(row.p_value, sampling.p_value);
  EXPECT_LE(row.interval.lo, sampling.interval.lo);
  EXPECT_GE(row.interval.hi, sampling.interval.hi);
  EXPECT_GE(row.detectable, sampling.detectable);
  EXPECT_EQ(row.dispersion, 1);
}

TEST(CompareRuns, WithOneRunPerSideIsTheSamplingErrorOnly) {
  const SiteRuns site{{tiny(10, kT)}, {tiny(30, kT)}};
  const RunComparison result = compare_runs({&site, 1}, 0.95);
  EXPECT_FALSE(result.sees_runs);
  const Difference sampling = difference({.sums = tiny(10, kT)}, {.sums = tiny(30, kT)}, 0.95);
  EXPECT_EQ(result.sites[0].p_value, sampling.p_value);
  EXPECT_EQ(result.sites[0].interval.lo, sampling.interval.lo);
  EXPECT_EQ(result.sites[0].degrees, 0);
}

TEST(CompareRuns, OfACompleteAndSteadyRecordingIsExact) {
  const std::vector<SiteRuns> sites(8,
                                    {{certain(100), certain(100)}, {certain(130), certain(130)}});
  for (const RunDifference& row : compare_runs(sites, 0.95).sites) {
    EXPECT_EQ(row.value, 30);
    EXPECT_EQ(row.interval.lo, 30);
    EXPECT_EQ(row.interval.hi, 30);
    EXPECT_EQ(row.p_value, 0);
  }
}

// One site that varies among steady ones: the variance of the others does not apply to it.
TEST(CompareRuns, LetsASiteThatVariesFarMoreStandForItself) {
  std::vector<SiteRuns> sites(20, {{certain(1000), certain(1001), certain(999)},
                                   {certain(1000), certain(999), certain(1001)}});
  sites.push_back(
      {{certain(500), certain(900), certain(1600)}, {certain(1500), certain(900), certain(2100)}});
  const RunDifference& row = compare_runs(sites, 0.95).sites.back();
  EXPECT_EQ(row.degrees, 4);
  EXPECT_GT(row.p_value, 0.2);
  EXPECT_EQ(compare_runs(sites, 0.95).sites[0].degrees, 8);
}

// The program of the simulations below: Zipf's law over sites, every run's bytes of a
// site vary by a relative deviation, a part of them certain.
struct Program {
  std::size_t sites = 200;
  double samples_at_top = 10000;
  double deviation = 0.05;
  double certain_share = 0;
  double zipf = 1;
};

struct Design {
  int before = 3, after = 3;
  double after_interval = kT;
  double growth = 0;
};

class Simulation {
 public:
  Simulation(const Program& program, const Design& design, std::uint64_t seed)
      : program_(program), design_(design), generator_(seed) {}

  std::vector<SiteRuns> next() {
    std::vector<SiteRuns> sites(program_.sites);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      const double bytes =
          kT * program_.samples_at_top / std::pow(static_cast<double>(i + 1), program_.zipf);
      for (int j = 0; j < design_.before; ++j) sites[i].before.push_back(run(bytes, kT));
      for (int j = 0; j < design_.after; ++j) {
        sites[i].after.push_back(run(bytes * (1 + design_.growth), design_.after_interval));
      }
    }
    return sites;
  }

 private:
  NodeSums run(double mean, double interval) {
    const double c = program_.deviation;
    const double bytes = mean * std::exp(c * normal_(generator_) - c * c / 2);
    const double tried = bytes * (1 - program_.certain_share);
    NodeSums sums =
        tiny(std::poisson_distribution<std::uint64_t>(tried / interval)(generator_), interval);
    if (tried < bytes) sums.add_certain(static_cast<Bytes>(bytes - tried));
    return sums;
  }

  Program program_;
  Design design_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
};

struct Shares {
  double rejected = 0, covered = 0, rejected_by_sampling_alone = 0;
};

// Over the sites that expect at least `least` samples per run.
Shares shares_of(const Program& program, const Design& design, double least, int comparisons,
                 double alpha = 0.05) {
  Simulation simulation(program, design, 17);
  Shares shares;
  double count = 0;
  for (int k = 0; k < comparisons; ++k) {
    const std::vector<SiteRuns> sites = simulation.next();
    const RunComparison result = compare_runs(sites, 1 - alpha);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      const double m = program.samples_at_top / std::pow(static_cast<double>(i + 1), program.zipf);
      if (m < least) break;
      const double truth = m * kT * design.growth;
      const RunDifference& row = result.sites[i];
      ++count;
      shares.rejected += row.p_value <= alpha;
      shares.covered += row.interval.lo <= truth && truth <= row.interval.hi;
      const Difference alone =
          difference({.sums = sites[i].before[0]}, {.sums = sites[i].after[0]}, 1 - alpha);
      shares.rejected_by_sampling_alone += alone.p_value <= alpha;
    }
  }
  return {shares.rejected / count, shares.covered / count,
          shares.rejected_by_sampling_alone / count};
}

// No change; runs vary by up to 5 %, intervals and numbers of runs differ, half the
// bytes may be certain. At 1000 samples and more, 2000 sites each: the standard error
// of a share of .05 is .005, of which five make the limit .075. The sampling error alone would give
// a false alarm at every second such site.
TEST(CompareRunsSimulation, KeepsItsLevelWhereRunsVary) {
  for (const double share : {0.0, 0.5}) {
    for (const Design& design :
         {Design{3, 3}, Design{2, 2}, Design{5, 5}, Design{3, 6}, Design{3, 3, 8 * kT}}) {
      const Program program{.sites = 60, .samples_at_top = 10000, .certain_share = share};
      const Shares shares = shares_of(program, design, 1000, 200);
      EXPECT_LE(shares.rejected, 0.075) << design.before << " " << share;
      EXPECT_GE(shares.covered, 0.925) << design.before << " " << share;
      if (design.after_interval == kT) {
        EXPECT_GT(shares.rejected_by_sampling_alone, 0.3);
      }
    }
  }
}

// A few samples a run, no variation: 2000 sites. If the intervals are 8 apart, the t-law alone
// would reject .18, as a side without samples seems to have no variance.
TEST(CompareRunsSimulation, KeepsItsLevelWithFewSamples) {
  const Program program{.sites = 20, .samples_at_top = 8, .deviation = 0, .zipf = 0};
  for (const Design& design : {Design{3, 3}, Design{3, 3, 8 * kT}}) {
    const Shares shares = shares_of(program, design, 1, 100);
    EXPECT_LE(shares.rejected, 0.05);
    EXPECT_GE(shares.covered, 0.95);
  }
}

// Growth by a tenth, 1000 samples, 1 % from run to run, 3 runs: 4000 sites, standard
// error .005.
TEST(CompareRunsSimulation, FindsAChange) {
  const Program program{.sites = 20, .samples_at_top = 1000, .deviation = 0.01, .zipf = 0};
  const Shares shares = shares_of(program, {.growth = 0.1}, 1000, 200);
  EXPECT_GT(shares.rejected, 0.8);
  EXPECT_GT(shares.covered, 0.95);
}

// Numbers that no recording produces, but that a damaged one may.
TEST(CompareRuns, IsNeverNan) {
  std::mt19937_64 generator(1);
  const double values[] = {0,    1e-320, 1e-30, 1,     16,    1e6,         1e12,
                           1e80, 1e160,  1e300, 1e308, -1e30, std::nan("")};
  const double levels[] = {0.95, 0.01, 1e-17, 0, 1, 7, std::nan("")};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  const auto side = [&] {
    std::vector<NodeSums> runs(generator() % 4);
    for (NodeSums& sums : runs) {
      sums.samples = generator() % 4;
      for (double* const field : {&sums.certain_bytes, &sums.bytes_seen, &sums.weighted_bytes,
                                  &sums.bytes_variance, &sums.largest_interval}) {
        *field = any();
      }
    }
    return runs;
  };
  for (int i = 0; i < 3000; ++i) {
    std::vector<SiteRuns> sites(generator() % 9);
    for (SiteRuns& site : sites) site = {side(), side()};
    const RunComparison result = compare_runs(sites, levels[generator() % std::size(levels)]);
    ASSERT_TRUE(std::isfinite(result.run_deviation)) << i;
    for (const RunDifference& row : result.sites) {
      ASSERT_TRUE(std::isfinite(row.value) && std::isfinite(row.detectable)) << i;
      ASSERT_TRUE(std::isfinite(row.interval.lo) && row.interval.lo <= row.value) << i;
      ASSERT_TRUE(std::isfinite(row.interval.hi) && row.interval.hi >= row.value) << i;
      ASSERT_TRUE(row.p_value >= 0 && row.p_value <= 1) << i;
      ASSERT_TRUE(std::isfinite(row.dispersion) && row.dispersion >= 1) << i;
    }
  }
}

}  // namespace
}  // namespace geiger::estimation::dispersion_test
