// A fleet's hosts as runs: false discoveries over lists of sites. Seeds are fixed. With 400
// comparisons a rate of .05 has a standard error of .0109: the limit leaves 4.5 of them, so that a
// procedure with a true rate of .05 fails for a fresh seed with a probability below 1e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "estimation/difference.h"
#include "estimation/loads.h"
#include "estimation/runs.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::hosts_simulation_test {
namespace {

constexpr double kT = 65536;
constexpr double kRate = 0.05;
constexpr double kLimit = kRate + 4.5 * 0.0109;

struct Fleet {
  int hosts = 15;
  std::size_t sites = 60;
  double samples_per_host = 2000;
  double host_deviation = 0.3;  ///< Of all sites of a host together: its load.
  double site_deviation = 0.2;  ///< Of each site on a host, in addition.
  std::size_t one_in = 0;       ///< One in this many sites changed, 0: none.
  double change = 0;            ///< By which factor; 0: each by one of its own.
};

/// Sites by Zipf's law on hosts that differ in load.
class Simulation {
 public:
  explicit Simulation(const Fleet& fleet, std::uint64_t seed = 31)
      : fleet_(fleet), generator_(seed) {
    for (std::size_t i = 1; i <= fleet.sites; ++i) harmonic_ += 1.0 / static_cast<double>(i);
  }

  std::vector<SiteRuns> next() {
    std::vector<double> factors(fleet_.sites, 1);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (!is_changed(i)) continue;
      factors[i] = fleet_.change != 0 ? fleet_.change : std::exp(0.3 * normal_(generator_));
    }
    std::vector<SiteRuns> sites(fleet_.sites);
    for (int host = 0; host < fleet_.hosts; ++host) {
      const double before = factor(fleet_.host_deviation), after = factor(fleet_.host_deviation);
      for (std::size_t i = 0; i < sites.size(); ++i) {
        const double samples = fleet_.samples_per_host / harmonic_ / static_cast<double>(i + 1);
        sites[i].before.push_back(run(samples * before));
        sites[i].after.push_back(run(samples * after * factors[i]));
      }
    }
    return sites;
  }

  [[nodiscard]] bool is_changed(std::size_t site) const {
    return fleet_.one_in > 0 && site % fleet_.one_in == 1;
  }

 private:
  double factor(double deviation) {
    return std::exp(deviation * normal_(generator_) - deviation * deviation / 2);
  }
  NodeSums run(double samples) {
    const double mean = samples * factor(fleet_.site_deviation);
    return tiny(std::poisson_distribution<std::uint64_t>(mean)(generator_), kT);
  }

  Fleet fleet_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  double harmonic_ = 0;
};

/// Each host's exposure is its total of allocated bytes, as estimated from its samples.
void compare_per_total(std::vector<SiteRuns>& sites) {
  const auto totals = [&](std::vector<NodeSums> SiteRuns::*side) {
    std::vector<double> bytes((sites[0].*side).size(), 0);
    for (const SiteRuns& site : sites) {
      for (std::size_t host = 0; host < bytes.size(); ++host) {
        bytes[host] += (site.*side)[host].weighted_bytes;
      }
    }
    return bytes;
  };
  const std::vector<double> before = totals(&SiteRuns::before), after = totals(&SiteRuns::after);
  for (SiteRuns& site : sites) {
    site.before_exposures = before;
    site.after_exposures = after;
  }
}

void compare_per_load(std::vector<SiteRuns>& sites) {
  for (SiteRuns& site : sites) site.before_exposures = site.after_exposures = {};
  const auto loads = loads_of(sites);
  ASSERT_TRUE(loads.has_value());
  for (SiteRuns& site : sites) {
    site.before_exposures = loads->before;
    site.after_exposures = loads->after;
  }
}

Side added(const std::vector<NodeSums>& runs) {
  Side side{.sums = {}, .exposure = static_cast<double>(runs.size())};
  for (const NodeSums& run : runs) side.sums.merge(run);
  return side;
}

/// Whether each site is said to have changed, at a false discovery rate of kRate.
std::vector<bool> discoveries(const std::vector<SiteRuns>& sites, bool by_hosts) {
  std::vector<std::size_t> tested;
  std::vector<double> p;
  const RunComparison compared = by_hosts ? compare_runs(sites, 1 - kRate) : RunComparison{};
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Side before = added(sites[i].before), after = added(sites[i].after);
    if (smallest_attainable_p(before, after) > kRate) continue;
    tested.push_back(i);
    p.push_back(by_hosts ? compared.sites[i].p_value
                         : difference(before, after, 1 - kRate).p_value);
  }
  const std::vector<double> q = adjusted_p_values(p);
  std::vector<bool> found(sites.size(), false);
  for (std::size_t i = 0; i < tested.size(); ++i) found[tested[i]] = q[i] <= kRate;
  return found;
}

/// Added over comparisons.
struct Discoveries {
  double found = 0;
  double wrong_share = 0;  ///< Sum of the shares that are false.
  double comparisons = 0;  ///< With any discovery.

  void add(const Simulation& simulation, const std::vector<bool>& is_found) {
    double all = 0, wrong = 0;
    for (std::size_t i = 0; i < is_found.size(); ++i) {
      all += is_found[i];
      wrong += is_found[i] && !simulation.is_changed(i);
    }
    found += all;
    comparisons += all > 0;
    if (all > 0) wrong_share += wrong / all;
  }
};

/// Nothing changed: the share of comparisons that find anything.
TEST(HostsSimulation, FindNothingBetweenTwoHalvesOfAFleet) {
  constexpr int kComparisons = 400;
  Simulation simulation({});
  Discoveries by_hosts, by_samples, per_total;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<SiteRuns> sites = simulation.next();
    by_hosts.add(simulation, discoveries(sites, true));
    by_samples.add(simulation, discoveries(sites, false));
    compare_per_total(sites);
    per_total.add(simulation, discoveries(sites, true));
  }
  EXPECT_LE(by_hosts.comparisons / kComparisons, kLimit);
  EXPECT_LE(per_total.comparisons / kComparisons, kLimit);
  EXPECT_GE(by_samples.comparisons / kComparisons, 0.9)
      << "the sampling error alone is no measure of hosts";
}

/// Hosts that differ by a common factor, or not at all: taking it out finds nothing of its own. Of
/// 200 comparisons .05 + 4.5 standard errors of .0154 may find something.
TEST(HostsSimulation, FindNothingPerLoadBetweenTwoHalvesOfAFleet) {
  constexpr int kComparisons = 200;
  for (const auto& [load, site] :
       {std::pair(0.0, 0.2), std::pair(0.2, 0.02), std::pair(0.2, 0.2)}) {
    Simulation simulation({.hosts = 30, .host_deviation = load, .site_deviation = site}, 43);
    Discoveries per_load;
    for (int i = 0; i < kComparisons; ++i) {
      std::vector<SiteRuns> sites = simulation.next();
      compare_per_load(sites);
      per_load.add(simulation, discoveries(sites, true));
    }
    EXPECT_LE(per_load.comparisons / kComparisons, kRate + 4.5 * 0.0154) << load << " " << site;
  }
}

/// A site of a tenth of the bytes grew by 10 %, on hosts whose loads differ by 20 %. As they are it
/// is hardly found; per total it is, and others shrank. With 50 comparisons a share of .9 has a
/// standard error of .042: the limits leave 4.5.
TEST(HostsSimulation, FindATenthPerLoad) {
  constexpr int kReleases = 50;
  Simulation simulation({.hosts = 30,
                         .samples_per_host = 10'000,
                         .host_deviation = 0.2,
                         .site_deviation = 0.02,
                         .one_in = 60,
                         .change = 1.1},
                        44);
  std::size_t by_hosts = 0, per_load = 0;
  Discoveries of_totals, of_loads;
  for (int i = 0; i < kReleases; ++i) {
    std::vector<SiteRuns> sites = simulation.next();
    by_hosts += discoveries(sites, true)[1] ? 1 : 0;
    compare_per_total(sites);
    of_totals.add(simulation, discoveries(sites, true));
    compare_per_load(sites);
    const std::vector<bool> found = discoveries(sites, true);
    per_load += found[1] ? 1 : 0;
    of_loads.add(simulation, found);
  }
  EXPECT_LE(by_hosts, kReleases * 3 / 10);
  EXPECT_GE(per_load, kReleases * 7 / 10);
  EXPECT_LT(of_loads.found - static_cast<double>(per_load), of_totals.found - kReleases)
      << "of those found, the ones that did not change";
}

/// Releases that change a quarter of the sites by some 30 %: the mean share of false discoveries. A
/// release whose hosts happen to have more load has many of them at once: the share has a
/// standard deviation of .1 over releases, its mean over 80 one of .011, of which the limit leaves
/// 4.5. Per total, the changes also move the shares of the other sites a little.
TEST(HostsSimulation, FindWhatReleasesChanged) {
  constexpr int kReleases = 80;
  Simulation simulation({.hosts = 30, .sites = 200, .samples_per_host = 5000, .one_in = 4});
  Discoveries by_hosts, by_samples, per_total;
  for (int i = 0; i < kReleases; ++i) {
    std::vector<SiteRuns> sites = simulation.next();
    by_hosts.add(simulation, discoveries(sites, true));
    by_samples.add(simulation, discoveries(sites, false));
    compare_per_total(sites);
    per_total.add(simulation, discoveries(sites, true));
  }
  constexpr double kMost = kRate + 4.5 * 0.011;
  EXPECT_LE(by_hosts.wrong_share / kReleases, kMost);
  EXPECT_LE(per_total.wrong_share / kReleases, kMost);
  EXPECT_GE(by_samples.wrong_share / kReleases, 0.3);
  EXPECT_GT(per_total.found, 1.3 * by_hosts.found) << "what hosts have in common cancels";
}

}  // namespace
}  // namespace geiger::estimation::hosts_simulation_test
