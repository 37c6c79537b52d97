#include "cli/verbs/fleet/part.h"

#include <fmt/format.h>

#include <string>

#include "analysis/present/format.h"

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
  for (const auto& [name, value] : filter.labels) scope.only.emplace_back(name, value);
  return scope;
}

profile::Profile select_in(const profile::Recording& recording, profile::Kind kind,
                           std::uint64_t range_ms) {
  profile::Profile profile = profile::select(recording, kind);
  if (kind == profile::Kind::kLiveAtEnd) profile.averaged_over = static_cast<double>(range_ms);
  return profile;
}

}  // namespace geiger::cli
