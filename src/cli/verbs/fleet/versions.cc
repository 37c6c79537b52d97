#include "cli/verbs/fleet/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/present/format.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/fleet/part.h"
#include "fleet/document/cut.h"

namespace geiger::cli {
namespace {

/// The hosts of a version, and what each was exposed to.
struct Side {
  compare::Which which = compare::Which::kBefore;
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
    constexpr double kHourMs = 3.6e6;
    switch (per) {
      case Per::kHost:
        exposures.push_back(1);
        break;
      case Per::kHour:
        exposures.push_back(static_cast<double>(host.recorded_ms) / kHourMs);
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

/// Adds each host of a side as a run.
base::Outcome<void> add_hosts(Side side, profile::Kind kind, compare::Collector& collector) {
  std::size_t next = 0;
  return fleet::for_each_host(
      std::move(side.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& host) -> base::Outcome<void> {
        const auto error =
            collector.add(side.which, recording, select_in(recording, kind, host.recorded_ms),
                          side.exposures[next++]);
        if (!error) return {};
        return base::Failure{fmt::format("{}: {}", host.host, compare::text_of(*error))};
      });
}

}  // namespace

base::Outcome<compare::Collected> collect_versions(const FleetOptions& options,
                                                   const Versions& versions,
                                                   compare::Collector collector, Shown& shown) {
  auto store = open_store(options);
  if (!store.has_value()) return store.failure();
  auto filter = filter_of(options, *store.value());
  if (!filter.has_value()) return filter.failure();
  std::vector<Side> sides;
  for (const compare::Which which : compare::kBoth) {
    const bool is_before = which == compare::Which::kBefore;
    filter->version = is_before ? versions.before : versions.after;
    if (filter->version->empty()) continue;
    auto fleet = ask_named(*store.value(), filter.value(), options, fleet::Unit::kHost);
    if (!fleet.has_value()) return fleet.failure();
    sides.push_back({which, std::move(fleet.value()), {}});
    (is_before ? shown.before : shown.after) = {text_of(filter.value())};
  }
  const Per per = versions.per.value_or(usual_per(sides, options.kind));
  shown.per = normalise(sides, options.kind, per);
  for (Side& side : sides) {
    const auto added = add_hosts(std::move(side), options.kind, collector);
    if (!added.has_value()) return added.failure();
  }
  return collector.finish();
}

void add_per_option(CLI::App& verb, std::optional<Per>& per) {
  add_choice(verb, "--per", "UNIT",
             "host, hour (of a host; default if hosts ran for long, and for\n"
             "different times), or total: of what each host has in all",
             Choices<Per>{{"host", Per::kHost}, {"hour", Per::kHour}, {"total", Per::kTotal}},
             [&per](Per unit) { per = unit; });
}

}  // namespace geiger::cli
