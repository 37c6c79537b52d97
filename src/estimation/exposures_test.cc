// Runs of different lengths. Seeds are fixed. Limits on shares leave 4.5 standard errors to the
// level: for a fresh seed each is passed with a probability below 1e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimation/difference.h"
#include "estimation/runs.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::exposures_test {
namespace {

constexpr double kT = 65536;

TEST(Exposures, OfOneEachChangeNothing) {
  const std::vector<NodeSums> sums{tiny(3, kT), certain(100), tiny(17, kT)};
  const std::vector<double> ones(3, 1.0);
  const Runs with = runs_of(sums, ones), without = runs_of(sums, {});
  EXPECT_EQ(with.mean, without.mean);
  EXPECT_EQ(with.squares, without.squares);
  EXPECT_EQ(with.sampling, without.sampling);
  EXPECT_EQ(with.degrees, 2);
  EXPECT_EQ(with.spread, 1);
}

TEST(Exposures, InAnotherUnitScaleTheResult) {
  const std::vector<NodeSums> sums{tiny(3, kT), tiny(9, kT), tiny(17, kT)};
  for (const std::vector<double>& hours :
       {std::vector{8.0, 8.0, 8.0}, std::vector{1.0, 2.0, 4.0}}) {
    std::vector<double> minutes;
    for (const double each : hours) minutes.push_back(60 * each);
    const Runs a = runs_of(sums, hours), b = runs_of(sums, minutes);
    EXPECT_NEAR(b.mean * 60, a.mean, 1e-12 * a.mean);
    EXPECT_NEAR(b.squares * 3600, a.squares, 1e-12 * a.squares);
    EXPECT_NEAR(b.sampling * 3600, a.sampling, 1e-12 * a.sampling);
    EXPECT_NEAR(b.degrees, a.degrees, 1e-12);
    EXPECT_NEAR(b.spread, a.spread, 1e-12);
  }
}

// Of runs with the variance of their squared exposures, the mean of the estimate is the variance.
TEST(Exposures, GiveAnUnbiasedVariance) {
  const std::vector<double> exposures{1, 1, 2, 3, 5, 8};
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  constexpr int kRepetitions = 20000;
  double estimated = 0, actual = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    std::vector<NodeSums> sums;
    for (const double exposure : exposures) {
      sums.emplace_back().certain_bytes = exposure * (1000 + 100 * normal(generator));
    }
    const Runs runs = runs_of(sums, exposures);
    estimated += runs.squares / runs.degrees / runs.count / kRepetitions;
    actual += (runs.mean - 1000) * (runs.mean - 1000) / kRepetitions;
  }
  // Each has a relative standard error of at most sqrt(2 / 20000) times 2.
  EXPECT_NEAR(estimated / actual, 1, 4.5 * std::sqrt(2.0) * 0.02);
}

TEST(Exposures, OfOneRunThatHasNearlyAllAreFinite) {
  const std::vector<NodeSums> sums{tiny(100, kT), tiny(3, kT)};
  for (const double share : {1e-3, 1e-8, 1e-15, 1e-200}) {
    const Runs runs = runs_of(sums, std::vector{1.0, share});
    EXPECT_TRUE(std::isfinite(runs.squares) && runs.squares >= 0) << share;
    EXPECT_GE(runs.degrees, 1) << share;
  }
}

/// A fleet: hosts run for different times, sites vary from host to host.
struct Fleet {
  int hosts = 20;
  double deviation = 0.3;   ///< Of a site's rate, from host to host.
  double spread = 1;        ///< Sigma of the lognormal law of exposures.
  double longer_after = 1;  ///< Exposures after, as a multiple of those before.
  double startup = 0;       ///< Additional bytes of every run, as a share of an hour's.
  double growth = 0;        ///< Of all bytes.
  std::size_t sites = 12;
  double samples_an_hour = 300;
};

class Simulation {
 public:
  explicit Simulation(const Fleet& fleet) : fleet_(fleet) {}

  std::vector<SiteRuns> next() {
    const std::vector<double> before = exposures(1), after = exposures(fleet_.longer_after);
    std::vector<SiteRuns> sites(fleet_.sites);
    for (SiteRuns& site : sites) {
      site.before_exposures = before;
      site.after_exposures = after;
      for (const double hours : before) site.before.push_back(run(hours, 1));
      for (const double hours : after) site.after.push_back(run(hours, 1 + fleet_.growth));
    }
    return sites;
  }

 private:
  std::vector<double> exposures(double factor) {
    std::vector<double> hours;
    for (int i = 0; i < fleet_.hosts; ++i) {
      hours.push_back(factor * std::exp(fleet_.spread * normal_(generator_)));
    }
    return hours;
  }

  NodeSums run(double hours, double factor) {
    const double c = fleet_.deviation;
    const double rate = factor * std::exp(c * normal_(generator_) - c * c / 2);
    const double mean = fleet_.samples_an_hour * rate * (hours + fleet_.startup);
    return tiny(std::poisson_distribution<std::uint64_t>(mean)(generator_), kT);
  }

  Fleet fleet_;
  std::mt19937_64 generator_{23};
  std::normal_distribution<double> normal_;
};

NodeSums divided(const NodeSums& run, double by) {
  NodeSums sums = run;
  for (double* sum : {&sums.weighted_bytes, &sums.bytes_seen, &sums.largest_interval}) *sum /= by;
  sums.bytes_variance /= by * by;
  return sums;
}

/// The sites as the estimator gets them.
using Telling = std::vector<SiteRuns> (*)(std::vector<SiteRuns> sites);

std::vector<SiteRuns> as_they_are(std::vector<SiteRuns> sites) { return sites; }

std::vector<SiteRuns> without_exposures(std::vector<SiteRuns> sites) {
  for (SiteRuns& site : sites) {
    site.before_exposures.clear();
    site.after_exposures.clear();
  }
  return sites;
}

std::vector<SiteRuns> as_rates_of_runs(std::vector<SiteRuns> sites) {
  for (SiteRuns& site : sites) {
    for (std::size_t i = 0; i < site.before.size(); ++i) {
      site.before[i] = divided(site.before[i], site.before_exposures[i]);
    }
    for (std::size_t i = 0; i < site.after.size(); ++i) {
      site.after[i] = divided(site.after[i], site.after_exposures[i]);
    }
  }
  return without_exposures(std::move(sites));
}

struct Shares {
  double rejected = 0, covered = 0;
  double error = 0;  ///< Root of the mean squared error, relative to the bytes before.
};

Shares shares_of(const Fleet& fleet, int comparisons, Telling telling) {
  Simulation simulation(fleet);
  const double mean_exposure = std::exp(fleet.spread * fleet.spread / 2);
  const double before = kT * fleet.samples_an_hour * (1 + fleet.startup / mean_exposure);
  const double after = kT * fleet.samples_an_hour * (1 + fleet.growth) *
                       (1 + fleet.startup / mean_exposure / fleet.longer_after);
  const double truth = after - before;
  Shares shares;
  const double one = 1 / (comparisons * static_cast<double>(fleet.sites));
  for (int i = 0; i < comparisons; ++i) {
    const RunComparison result = compare_runs(telling(simulation.next()), 0.95);
    for (const RunDifference& row : result.sites) {
      shares.rejected += one * (row.p_value <= 0.05);
      shares.covered += one * (row.interval.lo <= truth && truth <= row.interval.hi);
      shares.error += one * std::pow((row.value - truth) / before, 2);
    }
  }
  shares.error = std::sqrt(shares.error);
  return shares;
}

// Nothing changed. 2400 sites each: the standard error of .05 is .0045. Sites that lend each other
// a variance, and one alone; runs alike in length and not; sides alike in length and not.
TEST(ExposuresSimulation, KeepTheirLevel) {
  for (const std::size_t sites : {std::size_t{12}, std::size_t{1}}) {
    for (const Fleet& fleet :
         {Fleet{.hosts = 3}, Fleet{.hosts = 10}, Fleet{.hosts = 20},
          Fleet{.hosts = 20, .spread = 0}, Fleet{.hosts = 20, .spread = 1.5},
          Fleet{.hosts = 20, .longer_after = 3}, Fleet{.hosts = 20, .samples_an_hour = 2}}) {
      Fleet of_sites = fleet;
      of_sites.sites = sites;
      const Shares shares = shares_of(of_sites, static_cast<int>(2400 / sites), as_they_are);
      printf(
          "sites %zu hosts %d spread %.1f longer %.0f samples %.0f: rejected %.4f covered %.4f\n",
          sites, fleet.hosts, fleet.spread, fleet.longer_after, fleet.samples_an_hour,
          shares.rejected, shares.covered);
      EXPECT_LE(shares.rejected, 0.05 + 4.5 * 0.0045) << sites << " " << fleet.hosts;
      EXPECT_GE(shares.covered, 0.95 - 4.5 * 0.0045) << sites << " " << fleet.hosts;
    }
  }
}

// A recording three times as long has three times as much, without growth.
TEST(ExposuresSimulation, CannotBeLeftOut) {
  const Fleet fleet{.hosts = 20, .longer_after = 3};
  const Shares shares = shares_of(fleet, 20, without_exposures);
  EXPECT_GT(shares.rejected, 0.5);
}

// Every run begins with as much as half an hour has. The fleet's rate is that of its hours; the
// mean of the runs' rates is that of its short runs.
TEST(ExposuresSimulation, AreOfTheFleetAndNotOfTheMeanRun) {
  const Fleet fleet{.hosts = 40, .spread = 1, .startup = 0.5, .growth = 0.5};
  const Shares ours = shares_of(fleet, 200, as_they_are);
  const Shares rates = shares_of(fleet, 200, as_rates_of_runs);
  EXPECT_GE(ours.covered, 0.95 - 4.5 * 0.0045);
  EXPECT_LE(rates.covered, 0.92);
  EXPECT_LT(ours.error, 0.6 * rates.error);
}

// If the only error is that of few samples, short runs contain least information and should count
// least.
TEST(ExposuresSimulation, LetLongRunsCountForMore) {
  const Fleet fleet{.hosts = 20, .deviation = 0.05, .spread = 1.5, .samples_an_hour = 5};
  const Shares ours = shares_of(fleet, 100, as_they_are);
  const Shares rates = shares_of(fleet, 100, as_rates_of_runs);
  EXPECT_GE(ours.covered, 0.95 - 4.5 * 0.0045);
  EXPECT_LT(ours.error, 0.6 * rates.error);
}

}  // namespace
}  // namespace geiger::estimation::exposures_test
