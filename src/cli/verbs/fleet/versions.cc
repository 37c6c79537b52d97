#include "cli/verbs/fleet/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/site_runs.h"
#include "analysis/present/coverage.h"
#include "analysis/present/format.h"
#include "base/check.h"
#include "cli/options/fleet_options.h"
#include "cli/options/parsed_option.h"
#include "estimation/loads.h"
#include "estimation/runs.h"
#include "fleet/document/cut.h"

namespace geiger::cli {

present::Scope scope_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                        profile::Kind kind) {
  present::Scope scope;
  const std::string hosts = present::plural(fleet.hosts.size(), "host");
  const std::string time = present::duration(fleet.longest_ms() * 1'000'000);
  scope.when = kind == profile::Kind::kAllocated
                   ? fmt::format("allocated on {} in {}", hosts, time)
                   : fmt::format("live on {} on average over {}", hosts, time);
  scope.only.emplace_back("service", filter.service);
  if (filter.version) scope.only.emplace_back("version", *filter.version);
  if (filter.host) scope.only.emplace_back("host", *filter.host);
  for (const auto& [name, value] : filter.labels) {
    scope.only.emplace_back("label", fmt::format("{}={}", name, value));
  }
  return scope;
}

profile::Profile select_in(const profile::Recording& recording, profile::Kind kind,
                           std::uint64_t range_ms) {
  profile::Profile profile = profile::select(recording, kind);
  if (kind == profile::Kind::kLiveAtEnd) profile.averaged_over = static_cast<double>(range_ms);
  return profile;
}

present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Reach& reach) {
  present::Coverage coverage;
  coverage.of = text_of(filter);
  coverage.hosts = reach.hosts;
  coverage.recorded_hosts = reach.recorded_hosts;
  coverage.expected_ms = reach.expected_ms;
  coverage.recorded_ms = reach.recorded_ms;
  coverage.gaps = reach.gaps;
  coverage.gap_ms = reach.gap_ms;
  coverage.killed = reach.killed;
  coverage.out_of_memory = reach.out_of_memory;
  return coverage;
}

present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                              const profile::Profile& profile, double level) {
  present::Coverage coverage = coverage_of(filter, fleet.reach);
  if (fleet.reach.is_whole()) return coverage;
  // Live memory is a mean over the time that hosts ran, recorded or not.
  const bool is_mean = profile.kind == profile::Kind::kLiveAtEnd;
  const std::uint64_t range_ms = std::max(fleet.reach.longest_ms, fleet.longest_ms());
  std::vector<estimation::NodeSums> sums = fleet.of_hosts;
  for (estimation::NodeSums& host : sums) {
    if (is_mean) host.average_over(static_cast<double>(range_ms));
    host.could_have_sampled(profile.largest_interval);
  }
  std::vector<double> exposures;
  for (const fleet::HostSums& host : fleet.hosts) {
    exposures.push_back(static_cast<double>(host.recorded_ms));
  }
  coverage.all =
      estimation::fleet_total(sums, exposures, static_cast<double>(fleet.reach.expected_ms), level);
  return coverage;
}

namespace {

/// The hosts of a version, and what each was exposed to.
struct Side {
  compare::Which which = compare::Which::kBefore;
  std::size_t stratum = 0;  ///< Without --match all are in one.
  fleet::Fleet fleet;
  std::vector<double> exposures;
};

double bytes_of(const profile::Recording& recording, profile::Kind kind, std::uint64_t range_ms) {
  const estimation::NodeSums sums = profile::total(recording, select_in(recording, kind, range_ms));
  return sums.all_bytes();
}

std::vector<double> exposures_of(const fleet::Fleet& fleet, profile::Kind kind, Per per) {
  std::vector<double> exposures;
  const auto add = [&](const profile::Recording& recording,
                       const fleet::HostSums& host) -> base::Outcome<void> {
    switch (per) {
      case Per::kHost:
        exposures.push_back(1);
        break;
      case Per::kHour:
        exposures.push_back(present::hours_of(host.recorded_ms));
        break;
      case Per::kTotal:
        exposures.push_back(bytes_of(recording, kind, host.recorded_ms));
        break;
      case Per::kLoad:  // All hosts together.
        break;
    }
    return {};
  };
  static_cast<void>(fleet::for_each_host(fleet, add).has_value());
  return exposures;
}

/// Adds each host of a side as a run, to each of the collectors.
base::Outcome<void> add_hosts(Side side, profile::Kind kind,
                              const std::vector<compare::Collector*>& collectors) {
  std::size_t next = 0;
  return fleet::for_each_host(
      std::move(side.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& host) -> base::Outcome<void> {
        const auto profile = select_in(recording, kind, host.recorded_ms);
        const double exposure = side.exposures[next++];
        for (compare::Collector* collector : collectors) {
          GEIGER_TRY(collector->add(side.which, recording, profile, exposure)
                         .with_prefix(host.host + ": "));
        }
        return {};
      });
}

/// By the sites of a comparison; hosts are in the order in which they were added.
std::optional<estimation::Loads> loads_in(const compare::Collected& collected) {
  std::vector<estimation::SiteRuns> sites;
  for (const compare::Site& site : collected.sites) {
    sites.push_back(compare::as_runs(site.before, site.after, collected));
  }
  return estimation::loads_of(sites);
}

/// Makes each host's load its exposure.
base::Outcome<void> expose_by_load(std::vector<Side>& sides, profile::Kind kind) {
  compare::Collector collector(kind, {});
  for (Side& side : sides) {
    side.exposures.assign(side.fleet.hosts.size(), 1);
    GEIGER_TRY(add_hosts(side, kind, {&collector}));
  }
  const auto loads = loads_in(collector.finish());
  if (!loads) {
    return base::Failure{
        fmt::format("--per load needs {} functions with about 10 samples on each host or more",
                    estimation::kFewestSitesOfLoad)};
  }
  auto before = loads->before.begin(), after = loads->after.begin();
  for (Side& side : sides) {
    auto& next = side.which == compare::Which::kBefore ? before : after;
    for (double& exposure : side.exposures) exposure = *next++;
  }
  return {};
}

/// Hosts that were recorded for about as long are compared as they are, and so are jobs, which end
/// within a step of the grid. Live memory is a mean over the time already.
Per usual_per(const std::vector<Side>& sides, profile::Kind kind) {
  constexpr double kAlike = 1.05;
  if (kind != profile::Kind::kAllocated) return Per::kHost;
  std::uint64_t shortest = sides.front().fleet.shortest_ms(), longest = 0;
  for (const Side& side : sides) {
    shortest = std::min(shortest, side.fleet.shortest_ms());
    longest = std::max(longest, side.fleet.longest_ms());
  }
  const bool is_alike = static_cast<double>(longest) <= kAlike * static_cast<double>(shortest);
  const bool are_jobs = longest < static_cast<std::uint64_t>(fleet::kGrid) * 1000;
  return is_alike || are_jobs ? Per::kHost : Per::kHour;
}

/// Makes the mean exposure the unit, so that values are bytes of an average host. What values are
/// per, in words.
base::Outcome<std::string> normalise(std::vector<Side>& sides, profile::Kind kind, Per per) {
  double sum = 0, count = 0;
  if (per == Per::kLoad) GEIGER_TRY(expose_by_load(sides, kind));
  for (Side& side : sides) {
    if (per != Per::kLoad) side.exposures = exposures_of(side.fleet, kind, per);
    for (const double exposure : side.exposures) sum += exposure;
    count += static_cast<double>(side.exposures.size());
  }
  const double unit = sum / count;
  for (Side& side : sides) {
    for (double& exposure : side.exposures) exposure /= unit;
  }
  switch (per) {
    case Per::kHost:
      break;
    case Per::kHour:
      return present::duration(present::nanoseconds_of_hours(unit)) + " of a host";
    case Per::kTotal:
      return present::bound_bytes(unit) + " of a host";
    case Per::kLoad:
      return std::string("host of average load");
  }
  return std::string("host");
}

/// The values of a label, where --match names one; else one stratum that is everything.
using Strata = std::vector<std::optional<std::string>>;

base::Outcome<Strata> strata_of(fleet::Store& store, const fleet::Filter& of_service,
                                const Versions& versions) {
  if (versions.match.empty()) return Strata{std::nullopt};
  std::set<std::string> values;
  fleet::Filter filter = of_service;
  for (const std::string* version : {&versions.before, &versions.after}) {
    filter.version = *version;
    const auto found = GEIGER_TRY(store.label_values(filter, versions.match));
    values.insert(found.begin(), found.end());
  }
  if (values == std::set<std::string>{""}) {
    return base::Failure{
        fmt::format("--match {}: no window of these versions has this label", versions.match)};
  }
  return Strata(values.begin(), values.end());
}

/// Asks for one version; nothing where a stratum of it is empty.
base::Outcome<std::optional<fleet::Fleet>> ask_side(fleet::Store& store,
                                                    const fleet::Filter& filter,
                                                    const FleetOptions& options,
                                                    const std::string& match) {
  if (!match.empty()) {
    const auto hosts = GEIGER_TRY(store.hosts(filter));
    const bool is_recorded = std::ranges::any_of(
        hosts, [](const fleet::HostSums& host) { return host.recorded_ms > 0; });
    if (!is_recorded) return std::optional<fleet::Fleet>();
  }
  auto fleet = GEIGER_TRY(ask_named(store, filter, options, fleet::Unit::kHost));
  return std::optional(std::move(fleet));
}

/// The parts of the store that are compared: before and after, or only after.
std::vector<fleet::Filter> parts_of(const fleet::Filter& of_service, const Versions& versions) {
  std::vector<fleet::Filter> parts;
  for (const std::string* version : {&versions.before, &versions.after}) {
    if (version->empty()) continue;
    parts.push_back(of_service);
    parts.back().version = *version;
  }
  return parts;
}

/// Samples of one seed are drawn alike: they do not differ by chance as those of several runs do.
base::Outcome<void> check_seeds(fleet::Store& store, const std::vector<fleet::Filter>& parts) {
  const auto shared = GEIGER_TRY(store.shared_seeds(parts));
  if (shared == 0) return {};
  return base::Failure{fmt::format(
      "{} sampled with the seed of another one, so their samples are not independent: was one run "
      "pushed as two versions or hosts?",
      shared == 1 ? "one process" : fmt::format("{} processes", shared))};
}

/// The hours of the day of each part. Narrows the parts to those of all, if `of_same_hours`.
base::Outcome<std::vector<fleet::HoursOfDay>> settle_hours(fleet::Store& store,
                                                           std::vector<fleet::Filter>& parts,
                                                           bool of_same_hours) {
  std::vector<fleet::HoursOfDay> hours;
  std::bitset<24> common;
  common.set();
  bool are_known = true;
  for (const fleet::Filter& part : parts) {
    const auto found = GEIGER_TRY(store.hours_of_day(part));
    for (std::size_t hour = 0; hour < common.size(); ++hour) {
      if (found[hour] == 0) common.reset(hour);
    }
    are_known = are_known && found != fleet::HoursOfDay{};
    hours.push_back(found);
  }
  if (!of_same_hours || !are_known) return hours;
  if (common.none()) {
    return base::Failure{"--same-hours: the versions were not recorded in the same hours of a day"};
  }
  for (fleet::Filter& part : parts) part.hours_of_day = common;
  for (fleet::HoursOfDay& each : hours) {
    for (std::size_t hour = 0; hour < each.size(); ++hour) {
      if (!common[hour]) each[hour] = 0;
    }
  }
  return hours;
}

/// All sides of all strata with what they were exposed to, and what a report calls them.
base::Outcome<std::vector<Side>> ask_sides(const FleetOptions& options, const Versions& versions,
                                           Shown& shown) {
  auto part = GEIGER_TRY(open_part(options));
  fleet::Store& store = *part.store;
  const auto strata = GEIGER_TRY(strata_of(store, part.filter, versions));
  std::vector<fleet::Filter> parts = parts_of(part.filter, versions);
  GEIGER_TRY(check_seeds(store, parts));
  const auto hours = GEIGER_TRY(settle_hours(store, parts, versions.of_same_hours));
  std::vector<Side> sides;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const fleet::Filter& filter = parts[number];
    const bool is_before = number + 1 < parts.size();
    const compare::Which which = is_before ? compare::Which::kBefore : compare::Which::kAfter;
    (is_before ? shown.before : shown.after) = {text_of(filter)};
    const auto reach = GEIGER_TRY(fleet::reach_of(store, filter));
    shown.fleet.push_back(coverage_of(filter, reach));
    shown.fleet.back().ms_of_hour = hours[number];
    for (std::size_t i = 0; i < strata.size(); ++i) {
      fleet::Filter stratum = filter;
      if (strata[i]) stratum.labels[versions.match] = *strata[i];
      auto fleet = GEIGER_TRY(ask_side(store, stratum, options, versions.match));
      if (fleet) sides.push_back({which, i, std::move(*fleet), {}});
    }
  }
  shown.per = GEIGER_TRY(
      normalise(sides, options.kind, versions.per.value_or(usual_per(sides, options.kind))));
  if (!versions.match.empty()) shown.per += " of the same " + versions.match;
  return sides;
}

}  // namespace

base::Outcome<std::vector<compare::Collected>> collect_versions(
    const FleetOptions& options, const Versions& versions,
    std::vector<compare::Collector> collectors, Shown& shown) {
  GEIGER_CHECK(versions.match.empty());
  auto sides = GEIGER_TRY(ask_sides(options, versions, shown));
  std::vector<compare::Collector*> all;
  for (compare::Collector& collector : collectors) all.push_back(&collector);
  for (Side& side : sides) GEIGER_TRY(add_hosts(std::move(side), options.kind, all));
  std::vector<compare::Collected> collected;
  for (compare::Collector& collector : collectors) collected.push_back(collector.finish());
  return collected;
}

base::Outcome<compare::Comparison> compare_versions(const FleetOptions& options,
                                                    const Versions& versions,
                                                    const compare::Grouping& grouping,
                                                    Shown& shown) {
  auto sides = GEIGER_TRY(ask_sides(options, versions, shown));
  std::map<std::size_t, std::size_t> count;
  for (const Side& side : sides) ++count[side.stratum];
  compare::Collector all(options.kind, grouping);
  std::map<std::size_t, compare::Collector> strata;
  for (Side& side : sides) {
    const std::size_t stratum = side.stratum;
    std::vector<compare::Collector*> takers;
    if (count[stratum] == 2) takers.push_back(&all);
    if (!versions.match.empty()) {
      takers.push_back(&strata.try_emplace(stratum, options.kind, grouping).first->second);
    }
    GEIGER_TRY(add_hosts(std::move(side), options.kind, takers));
  }
  compare::Collected collected = all.finish();
  if (collected.before.runs.empty()) {
    return base::Failure{fmt::format(
        "--match {}: the versions have no value of this label in common", versions.match)};
  }
  GEIGER_TRY(compare::check_comparable(collected, options.level));
  if (!versions.per) {
    constexpr double kDiffer = 0.05;
    const auto loads = loads_in(collected);
    if (loads && loads->deviation > kDiffer) shown.load_deviation = loads->deviation;
  }
  if (versions.match.empty()) return compare::compare(std::move(collected), options.level);
  std::vector<compare::Collected> parts;
  for (auto& [stratum, collector] : strata) {
    parts.push_back(collector.finish());
    if (count[stratum] < 2) continue;
    GEIGER_TRY(compare::check_sides(parts.back())
                   .with_prefix(
                       fmt::format("--match {}: a stratum cannot be compared: ", versions.match)));
  }
  return compare::compare_within(std::move(collected), std::move(parts), options.level);
}

void add_comparison_options(CLI::App& verb, Versions& versions) {
  add_choice(
      verb, "--per", "UNIT",
      "Unit of comparison: host, hour (of a host; default if hosts\n"
      "ran long and for different times), load (what the functions of\n"
      "a host have in common), or total (shares of what each host has)",
      Choices<Per>{
          {"host", Per::kHost}, {"hour", Per::kHour}, {"load", Per::kLoad}, {"total", Per::kTotal}},
      [&versions](Per unit) { versions.per = unit; });
  verb.add_flag("--same-hours", versions.of_same_hours,
                "Only hours of the day (UTC) in which both versions were recorded");
}

}  // namespace geiger::cli
