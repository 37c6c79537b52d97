#include "cli/verbs/fleet/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "cli/options/fleet_options.h"
#include "estimation/fleet_total.h"

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

}  // namespace geiger::cli
