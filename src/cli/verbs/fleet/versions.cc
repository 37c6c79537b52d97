#include "cli/verbs/fleet/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/present/format.h"
#include "base/check.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/fleet/part.h"
#include "fleet/document/cut.h"

namespace geiger::cli {
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
  return sums.certain_bytes + sums.weighted_bytes;
}

std::vector<double> exposures_of(const fleet::Fleet& fleet, profile::Kind kind, Per per) {
  std::vector<double> exposures;
  const auto add = [&](const profile::Recording& recording,
                       const fleet::HostSums& host) -> base::Outcome<void> {
    constexpr double kMsPerHour = 3.6e6;
    switch (per) {
      case Per::kHost:
        exposures.push_back(1);
        break;
      case Per::kHour:
        exposures.push_back(static_cast<double>(host.recorded_ms) / kMsPerHour);
        break;
      case Per::kTotal:
        exposures.push_back(bytes_of(recording, kind, host.recorded_ms));
        break;
    }
    return {};
  };
  static_cast<void>(fleet::for_each_host(fleet, add).has_value());
  return exposures;
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
std::string normalise(std::vector<Side>& sides, profile::Kind kind, Per per) {
  double sum = 0, count = 0;
  for (Side& side : sides) {
    side.exposures = exposures_of(side.fleet, kind, per);
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
      return present::duration(static_cast<Nanoseconds>(unit * 3.6e12)) + " of a host";
    case Per::kTotal:
      return present::bound_bytes(unit) + " of a host";
  }
  return "host";
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
          const auto error = collector->add(side.which, recording, profile, exposure);
          if (error) return base::Failure{fmt::format("{}: {}", host.host, text_of(*error))};
        }
        return {};
      });
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
    const auto found = store.label_values(filter, versions.match);
    if (!found.has_value()) return found.failure();
    values.insert(found->begin(), found->end());
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
    const auto hosts = store.hosts(filter);
    if (!hosts.has_value()) return hosts.failure();
    const bool is_recorded = std::ranges::any_of(
        hosts.value(), [](const fleet::HostSums& host) { return host.recorded_ms > 0; });
    if (!is_recorded) return std::optional<fleet::Fleet>();
  }
  auto fleet = ask_named(store, filter, options, fleet::Unit::kHost);
  if (!fleet.has_value()) return fleet.failure();
  return std::optional(std::move(fleet.value()));
}

/// All sides of all strata with what they were exposed to, and what a report calls them.
base::Outcome<std::vector<Side>> ask_sides(const FleetOptions& options, const Versions& versions,
                                           Shown& shown) {
  const auto opened = open_store(options);
  if (!opened.has_value()) return opened.failure();
  fleet::Store& store = *opened.value();
  auto filter = filter_of(options, store);
  if (!filter.has_value()) return filter.failure();
  const auto strata = strata_of(store, filter.value(), versions);
  if (!strata.has_value()) return strata.failure();
  std::vector<Side> sides;
  for (const compare::Which which : compare::kBoth) {
    const bool is_before = which == compare::Which::kBefore;
    filter->version = is_before ? versions.before : versions.after;
    if (filter->version->empty()) continue;
    (is_before ? shown.before : shown.after) = {text_of(filter.value())};
    const auto reach = fleet::reach_of(store, filter.value());
    if (!reach.has_value()) return reach.failure();
    shown.fleet.push_back(coverage_of(filter.value(), reach.value()));
    for (std::size_t i = 0; i < strata->size(); ++i) {
      fleet::Filter part = filter.value();
      if (strata.value()[i]) part.labels[versions.match] = *strata.value()[i];
      auto fleet = ask_side(store, part, options, versions.match);
      if (!fleet.has_value()) return fleet.failure();
      if (fleet.value()) sides.push_back({which, i, std::move(*fleet.value()), {}});
    }
  }
  shown.per = normalise(sides, options.kind, versions.per.value_or(usual_per(sides, options.kind)));
  if (!versions.match.empty()) shown.per += " of the same " + versions.match;
  return sides;
}

}  // namespace

base::Outcome<std::vector<compare::Collected>> collect_versions(
    const FleetOptions& options, const Versions& versions,
    std::vector<compare::Collector> collectors, Shown& shown) {
  GEIGER_CHECK(versions.match.empty());
  auto sides = ask_sides(options, versions, shown);
  if (!sides.has_value()) return sides.failure();
  std::vector<compare::Collector*> all;
  for (compare::Collector& collector : collectors) all.push_back(&collector);
  for (Side& side : sides.value()) {
    const auto added = add_hosts(std::move(side), options.kind, all);
    if (!added.has_value()) return added.failure();
  }
  std::vector<compare::Collected> collected;
  for (compare::Collector& collector : collectors) collected.push_back(collector.finish());
  return collected;
}

base::Outcome<compare::Comparison> compare_versions(const FleetOptions& options,
                                                    const Versions& versions,
                                                    const compare::Grouping& grouping,
                                                    Shown& shown) {
  auto sides = ask_sides(options, versions, shown);
  if (!sides.has_value()) return sides.failure();
  std::map<std::size_t, std::size_t> count;
  for (const Side& side : sides.value()) ++count[side.stratum];
  compare::Collector all(options.kind, grouping);
  std::map<std::size_t, compare::Collector> strata;
  for (Side& side : sides.value()) {
    const std::size_t stratum = side.stratum;
    std::vector<compare::Collector*> takers;
    if (count[stratum] == 2) takers.push_back(&all);
    if (!versions.match.empty()) {
      takers.push_back(&strata.try_emplace(stratum, options.kind, grouping).first->second);
    }
    const auto added = add_hosts(std::move(side), options.kind, takers);
    if (!added.has_value()) return added.failure();
  }
  compare::Collected collected = all.finish();
  if (collected.before.runs.empty()) {
    return base::Failure{fmt::format(
        "--match {}: the versions have no value of this label in common", versions.match)};
  }
  if (const auto error = compare::problem_with(collected, options.level)) {
    return base::Failure{std::string(compare::text_of(*error))};
  }
  if (versions.match.empty()) return compare::compare(std::move(collected), options.level);
  std::vector<compare::Collected> parts;
  for (auto& [stratum, collector] : strata) {
    parts.push_back(collector.finish());
    if (count[stratum] < 2) continue;
    if (const auto error = compare::problem_with_sides(parts.back())) {
      return base::Failure{fmt::format("--match {}: a stratum cannot be compared: {}",
                                       versions.match, compare::text_of(*error))};
    }
  }
  return compare::compare_within(std::move(collected), std::move(parts), options.level);
}

void add_per_option(CLI::App& verb, std::optional<Per>& per) {
  add_choice(verb, "--per", "UNIT",
             "Unit of comparison: host, hour (of a host; default if hosts\n"
             "ran long and for different times), or total (shares of what\n"
             "each host has)",
             Choices<Per>{{"host", Per::kHost}, {"hour", Per::kHour}, {"total", Per::kTotal}},
             [&per](Per unit) { per = unit; });
}

}  // namespace geiger::cli
