// Compares profiles of parts of objects with a program's own truth (hosts/residency.cc).
//
//   residency_analysis [--break | --drop | --drop-largest | --forget] KIND INTERVAL TRUTH.json
//   TRACE...
//
// KIND is resident, untouched or stranded. Each TRACE is one run, TRUTH.json what the
// program printed in one of them: it is the same in all. Prints one JSON object: how many
// 95 % intervals of sites covered, how many were expected to (by 4,000 simulated draws of
// the site's own objects; 0 at interval 1 and without some of the answers) and the variance of
// that number; per run the estimates and the truth of all sites together.
//
// --break takes every object for wholly of the kind: the tests must notice. --drop forgets
// every third of the answers that were asked for inside, --drop-largest the third of them that
// tells of the most resident bytes; --forget as well, and that they are missing.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "analysis/profile/memory/measured.h"
#include "estimation/estimate.h"

namespace {

using geiger::Address;
using geiger::Bytes;
using geiger::estimation::Estimate;
using geiger::estimation::NodeSums;
using geiger::profile::Kind;
using geiger::profile::Recording;
using nlohmann::json;

constexpr double kLevel = 0.95;
constexpr int kDraws = 4000;

struct Object {
  Bytes size;
  double value;
};

struct Site {
  Address start = 0;
  std::vector<Object> objects;
  double truth = 0;
  double predicted = 0;
};

struct Truth {
  Address start = 0, stop = 0;
  std::uint64_t done = 0;
  std::vector<Site> sites;  ///< In order of address.
};

Truth parse_truth(const std::string& path, Kind kind) {
  const json document = json::parse(std::ifstream(path));
  Truth truth{document["start"], document["stop"], document["done"], {}};
  for (const json& each : document["sites"]) {
    Site site{each["start"], {}, 0, 0};
    for (const json& block : each["blocks"]) {
      const double value = block[kind == Kind::kUntouched ? 2 : 1];
      site.objects.push_back({block[0], value});
      site.truth += value;
    }
    truth.sites.push_back(std::move(site));
  }
  std::ranges::sort(truth.sites, {}, &Site::start);
  return truth;
}

std::size_t site_of(const Truth& truth, const Recording& recording, std::uint32_t stack) {
  if (stack == geiger::profile::kNone) return truth.sites.size();
  const auto& locations = recording.stacks[stack].locations;
  if (locations.empty()) return truth.sites.size();
  const Address at = recording.locations[locations[0]].vaddr;
  if (at < truth.start || at >= truth.stop) return truth.sites.size();
  std::size_t site = 0;
  while (site + 1 < truth.sites.size() && truth.sites[site + 1].start <= at) ++site;
  return site;
}

bool covers(const NodeSums& sums, double truth) {
  const Estimate bytes = geiger::estimation::estimate_bytes(sums, kLevel);
  // Half a byte is what rounding may lose at T = 1.
  const double slack = 1e-9 * truth + 0.5;
  return bytes.interval.lo <= truth + slack && truth - slack <= bytes.interval.hi;
}

/// The share of draws of a site's objects whose interval covers: E is raised as select()
/// raises it, by the ratios of everything drawn in the run.
double predicted_coverage(const Site& site, Bytes interval, double event, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double lambda = geiger::estimation::rate_of_interval(static_cast<double>(interval));
  std::vector<double> chances;  // Once for all draws, which have them in common.
  for (const Object& object : site.objects) {
    chances.push_back(geiger::estimation::inclusion_probability(object.size, lambda));
  }
  int covered = 0;
  for (int i = 0; i < kDraws; ++i) {
    NodeSums sums;
    sums.could_have_sampled(event);
    for (std::size_t k = 0; k < site.objects.size(); ++k) {
      const Object& object = site.objects[k];
      const bool is_certain = object.size >= interval;
      if (!is_certain && std::uniform_real_distribution<>()(random) >= chances[k]) continue;
      const Bytes value =
          geiger::profile::rounded_at_random(object.value, static_cast<std::uint64_t>(random()));
      sums.add(object.size, is_certain ? HUGE_VAL : lambda, 1, 1.0, value);
    }
    covered += covers(sums, site.truth) ? 1 : 0;
  }
  return static_cast<double>(covered) / kDraws;
}

struct Result {
  std::uint64_t intervals = 0, covered = 0;
  double predicted = 0, variance = 0;
  std::vector<json> runs;
};

enum class Change { kNone, kBreak, kDrop, kDropLargest, kForget };

/// A third of the newest answers go; older ones do not count anyway.
void drop_answers(Recording& recording, Change change) {
  auto& answers = recording.residency_answers;
  if (change != Change::kDrop) {
    std::ranges::stable_sort(answers, {}, &geiger::profile::ResidencyAnswer::resident);
  }
  std::uint64_t last = 0;
  for (const auto& answer : answers) last = std::max(last, answer.time);
  std::erase_if(answers, [last](const auto& answer) { return answer.time != last; });
  if (change != Change::kDrop) {
    answers.resize(answers.size() - answers.size() / 3);
    return;
  }
  std::erase_if(answers, [](const auto& answer) { return answer.sample % 3 == 0; });
}

class Comparison {
 public:
  Comparison(Truth truth, Kind kind, Bytes interval, Change change)
      : truth_(std::move(truth)), kind_(kind), interval_(interval), change_(change) {}

  void add_run(const std::string& path) {
    auto ingested = geiger::ingest::read_recording(std::vector<std::string>{path});
    if (change_ > Change::kBreak) drop_answers(ingested.recording, change_);
    const Recording& recording = ingested.recording;
    geiger::profile::Selection selection;
    selection.kind = kind_;
    selection.moment = geiger::profile::Moment::kLast;
    const auto known = geiger::profile::check_kind(recording, selection.kind, selection.moment);
    if (!known.has_value()) {
      result_.runs.push_back({{"fault", known.reason()}});
      return;
    }
    auto profile = geiger::profile::select(recording, selection);
    if (change_ == Change::kForget) profile.open.clear();
    if (change_ == Change::kBreak) {
      for (auto& entry : profile.entries) entry.value = entry.requested;
    }
    compare(recording, profile);
  }

  [[nodiscard]] json result() const {
    return {{"intervals", result_.intervals},
            {"covered", result_.covered},
            {"predicted", result_.predicted},
            {"variance", result_.variance},
            {"runs", result_.runs}};
  }

 private:
  void compare(const Recording& recording, const geiger::profile::Profile& profile) {
    std::vector<NodeSums> sums(truth_.sites.size() + 1);
    for (NodeSums& site : sums) site.could_have_sampled(profile.largest_interval);
    for (const auto& entry : profile.entries) {
      geiger::profile::accumulate(sums[site_of(truth_, recording, entry.stack)], entry, recording,
                                  profile);
    }
    for (const auto& entry : profile.open) {
      NodeSums whole;
      geiger::profile::accumulate(whole, entry, recording, profile);
      sums[site_of(truth_, recording, entry.stack)].leave_open(whole);
    }
    double estimate = 0, truth = 0;
    for (std::size_t i = 0; i < truth_.sites.size(); ++i) {
      Site& site = truth_.sites[i];
      if (site.truth == 0) continue;
      if (is_predicted() && site.predicted == 0) {
        site.predicted = predicted_coverage(site, interval_, profile.largest_interval, i + 1);
      }
      ++result_.intervals;
      result_.covered += covers(sums[i], site.truth) ? 1 : 0;
      result_.predicted += site.predicted;
      result_.variance += site.predicted * (1 - site.predicted);
      estimate += sums[i].weighted_bytes + sums[i].certain_bytes;
      truth += site.truth;
    }
    result_.runs.push_back(
        {{"estimate", estimate}, {"truth", truth}, {"samples", profile.entries.size()}});
  }

  // Where every object is a sample there is nothing to draw, and what covers without some of the
  // answers is not known beforehand.
  [[nodiscard]] bool is_predicted() const { return interval_ > 1 && change_ <= Change::kBreak; }

  Truth truth_;
  Kind kind_;
  Bytes interval_;
  Change change_;
  Result result_;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kChanges[] = {"", "--break", "--drop", "--drop-largest", "--forget"};
  const auto* named = argc > 1 ? std::ranges::find(kChanges, argv[1]) : std::end(kChanges);
  const bool is_changed = named != std::end(kChanges);
  const auto change = is_changed ? static_cast<Change>(named - kChanges) : Change::kNone;
  const int first = is_changed ? 2 : 1;
  if (argc <= first + 3) return 2;
  const auto kind = geiger::profile::kind_named(argv[first]);
  if (!kind) return 2;
  Comparison comparison(parse_truth(argv[first + 2], *kind), *kind,
                        std::strtoull(argv[first + 1], nullptr, 10), change);
  for (int i = first + 3; i < argc; ++i) comparison.add_run(argv[i]);
  std::cout << comparison.result() << '\n';
}
