// Compares estimates with a program's own truth (hosts/truth.cc).
//
//   truth_analysis [--break] TRUTH.json TRACE...
//
// TRUTH.json is what the program printed, the same in every run; each TRACE is one
// run. Prints one JSON object: for every class of sites, level and mode of counting
// how many 95 % intervals covered, how many were expected to and the variance of
// that number; the z of every run; the largest error of the estimates in standard
// errors of their mean; and whether everything was exact to the byte and call.
//
// --break adds one sampling interval to every site's estimate, as if a weight were
// off by one: the tests must notice.
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "analysis/profile/select/profile.h"
#include "estimation/estimate.h"
#include "research/coverage.h"

namespace {

using geiger::Address;
using geiger::Bytes;
using geiger::estimation::Estimate;
using geiger::estimation::Form;
using geiger::estimation::NodeSums;
using nlohmann::json;

constexpr double kLevel = 0.95;

/// What one site did: the groups are the truth, by size.
struct Known {
  geiger::research::Site site;
  double bytes = 0;
  double calls = 0;
};

struct Site {
  std::string name, kind;
  double expected = 0;
  Address start = 0;
  Known allocated, live;
};

struct Truth {
  Bytes interval = 1;
  Address start = 0, stop = 0;
  std::vector<Site> sites;  ///< In order of address.
};

Known parse_groups(const json& groups, Bytes interval) {
  Known known;
  known.site.interval = interval;
  for (const json& group : groups) {
    const Bytes size = group[0];
    const std::uint64_t calls = group[1];
    known.site.objects.push_back({size, calls});
    known.bytes += static_cast<double>(size * calls);
    known.calls += static_cast<double>(calls);
  }
  return known;
}

Truth parse_truth(const std::string& path) {
  const json document = json::parse(std::ifstream(path));
  Truth truth{document["interval"], document["start"], document["stop"], {}};
  for (const json& site : document["sites"])
    truth.sites.push_back({site["name"], site["class"], site["expected"], site["start"],
                           parse_groups(site["allocated"], truth.interval),
                           parse_groups(site["live"], truth.interval)});
  std::sort(truth.sites.begin(), truth.sites.end(),
            [](const Site& a, const Site& b) { return a.start < b.start; });
  return truth;
}

/// Index of the site that a stack's leaf lies in, or the number of sites.
std::size_t site_of(const Truth& truth, const geiger::profile::Recording& recording,
                    std::uint32_t stack) {
  const auto& locations = recording.stacks[stack].locations;
  if (locations.empty()) return truth.sites.size();
  const Address at = recording.locations[locations[0]].vaddr;
  if (at < truth.start || at >= truth.stop) return truth.sites.size();
  std::size_t site = 0;
  while (site + 1 < truth.sites.size() && truth.sites[site + 1].start <= at) ++site;
  return site;
}

std::vector<NodeSums> sums_of_sites(const Truth& truth, const geiger::profile::Recording& recording,
                                    geiger::profile::Kind kind) {
  const auto profile = geiger::profile::select(recording, kind);
  std::vector<NodeSums> sums(truth.sites.size() + 1);
  for (NodeSums& site : sums) site.could_have_sampled(profile.largest_interval);
  for (const auto& entry : profile.entries) {
    const bool has_stack = entry.stack != geiger::profile::kNone;
    const std::size_t site =
        has_stack ? site_of(truth, recording, entry.stack) : truth.sites.size();
    geiger::profile::accumulate(sums[site], entry, recording, profile);
  }
  return sums;
}

/// Intervals of one kind over all runs.
struct Tally {
  std::uint64_t intervals = 0, covered = 0;
  double predicted = 0, variance = 0;

  void add(bool is_covered, const geiger::research::Coverage& coverage) {
    ++intervals;
    covered += is_covered ? 1 : 0;
    predicted += coverage.covered;
    variance += coverage.covered * (1 - coverage.covered);
  }
};

void to_json(json& out, const Tally& tally) {
  out = {{"intervals", tally.intervals},
         {"covered", tally.covered},
         {"predicted", tally.predicted},
         {"variance", tally.variance}};
}

/// Errors of one site's estimates over all runs, to test that their mean is 0.
struct Bias {
  double sum = 0, variance = 0;
  void add(double error, double true_variance) {
    sum += error;
    variance += true_variance;
  }
  [[nodiscard]] double z() const { return variance > 0 ? sum / std::sqrt(variance) : 0; }
};

/// Variance of the Horvitz-Thompson estimate of a site, from the truth.
double variance_of(const Known& known, Bytes interval) {
  const double lambda = geiger::estimation::rate_of_interval(static_cast<double>(interval));
  double variance = 0;
  for (const auto& group : known.site.objects) {
    if (group.size >= interval) continue;
    const double pi = geiger::estimation::inclusion_probability(group.size, lambda);
    const auto size = static_cast<double>(group.size);
    variance += static_cast<double>(group.count) * size * size * (1 - pi) / pi;
  }
  return variance;
}

class Comparison {
 public:
  Comparison(Truth truth, bool is_broken) : truth_(std::move(truth)), is_broken_(is_broken) {
    using geiger::research::predicted_coverage;
    for (const Site& site : truth_.sites) {
      allocated_coverage_.push_back(predicted_coverage(site.allocated.site, kLevel, Form::kTotal));
      live_coverage_.push_back(predicted_coverage(site.live.site, kLevel, Form::kTotal));
    }
    bias_.resize(truth_.sites.size());
  }

  void add_run(const std::string& path) {
    const auto ingested = geiger::ingest::read_recording(std::vector<std::string>{path});
    const auto& recording = ingested.recording;
    is_sound_ = is_sound_ && !ingested.damaged;
    add_z(recording);
    compare(sums_of_sites(truth_, recording, geiger::profile::Kind::kAllocated), false);
    compare(sums_of_sites(truth_, recording, geiger::profile::Kind::kLiveAtEnd), true);
  }

  [[nodiscard]] json result() const {
    double worst = 0;
    for (const Bias& bias : bias_) worst = std::max(worst, std::fabs(bias.z()));
    return {{"tallies", tallies_}, {"z", z_},
            {"worst_bias", worst}, {"exact", is_exact_},
            {"sound", is_sound_},  {"sites", truth_.sites.size()}};
  }

 private:
  void add_z(const geiger::profile::Recording& recording) {
    std::uint64_t hits = 0, trials = 0;
    for (const auto& thread : recording.threads) {
      hits += thread.hits;
      trials += thread.trials;
    }
    const auto interval = static_cast<double>(truth_.interval);
    z_.push_back({{"z", geiger::estimation::sampler_z(hits, trials, interval)}, {"hits", hits}});
  }

  void compare(const std::vector<NodeSums>& sums, bool is_live) {
    for (std::size_t i = 0; i < truth_.sites.size(); ++i) {
      const Site& site = truth_.sites[i];
      const Known& known = is_live ? site.live : site.allocated;
      const auto& coverage = (is_live ? live_coverage_ : allocated_coverage_)[i];
      Estimate bytes = geiger::estimation::estimate_bytes(sums[i], kLevel);
      if (is_broken_) shift(bytes, static_cast<double>(truth_.interval));
      tally(site, is_live, bytes, known, coverage);
      const Estimate objects = geiger::estimation::estimate_objects(sums[i], kLevel);
      is_exact_ = is_exact_ && bytes.value == known.bytes && objects.value == known.calls;
      if (!is_live) bias_[i].add(bytes.value - known.bytes, variance_of(known, truth_.interval));
    }
  }

  static void shift(Estimate& estimate, double bytes) {
    estimate.value += bytes;
    estimate.interval.lo += bytes;
    estimate.interval.hi += bytes;
  }

  void tally(const Site& site, bool is_live, const Estimate& bytes, const Known& known,
             const geiger::research::Coverage& coverage) {
    // Sums of doubles in another order than the truth's: a relative 1e-9 is nothing.
    const double slack = 1e-9 * known.bytes;
    const bool is_covered =
        bytes.interval.lo <= known.bytes + slack && known.bytes - slack <= bytes.interval.hi;
    const std::string view = is_live ? "live " : "allocated ";
    tallies_[view + site.kind].add(is_covered, coverage);
    tallies_[view + "expecting " + json(site.expected).dump()].add(is_covered, coverage);
  }

  Truth truth_;
  bool is_broken_;
  bool is_exact_ = true, is_sound_ = true;
  std::vector<geiger::research::Coverage> allocated_coverage_, live_coverage_;
  std::vector<Bias> bias_;
  std::map<std::string, Tally> tallies_;
  std::vector<json> z_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_broken = argc > 1 && std::string(argv[1]) == "--break";
  const int first = is_broken ? 2 : 1;
  if (argc <= first) return 2;
  Comparison comparison(parse_truth(argv[first]), is_broken);
  for (int i = first + 1; i < argc; ++i) comparison.add_run(argv[i]);
  std::cout << comparison.result() << '\n';
}
