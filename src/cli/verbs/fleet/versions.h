// Comparing versions of a service: each host is a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/collector.h"
#include "analysis/compare/comparison.h"
#include "analysis/present/coverage.h"
#include "analysis/present/heading.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "cli/options/fleet_options.h"
#include "fleet/ask/ask.h"
#include "fleet/store/store.h"

namespace geiger::cli {

// The part of a fleet that a verb reports on, in words and as a profile.

/// Of a kind of memory in a fleet, in the words of a heading.
[[nodiscard]] present::Scope scope_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                                      profile::Kind kind);

/// How much of a filter's selection was recorded.
[[nodiscard]] present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Reach& reach);
/// With an estimate for all hosts, if something was not recorded. `profile`: of the fleet's
/// recording.
[[nodiscard]] present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                                            const profile::Profile& profile, double level);

/// A profile of a fleet's recording. Live samples were counted once per millisecond of the range.
[[nodiscard]] profile::Profile select_in(const profile::Recording& recording, profile::Kind kind,
                                         std::uint64_t range_ms);

/// What hosts are compared by.
enum class Per : std::uint8_t { kHost, kHour, kLoad, kTotal };

/// Versions before and after; none before where the limits need none.
struct Versions {
  std::string before, after;
  std::optional<Per> per;      ///< As typed.
  std::string match;           ///< Label whose values are strata; empty: none.
  bool of_same_hours = false;  ///< Only hours of the day in which both were recorded.
};

/// --per, --same-hours.
void add_comparison_options(CLI::App& verb, Versions& versions);

/// What the report calls the sides.
struct Shown {
  std::vector<std::string> before, after;
  std::string per;
  std::vector<present::Coverage> fleet;  ///< Of each side.
  /// If hosts differ in load, and --per did not say what to do about it (estimation/loads.h).
  std::optional<double> load_deviation;
};

/// Collects both, for several groupings, and says what a report calls them. Requires that nothing
/// is to be matched.
base::Outcome<std::vector<compare::Collected>> collect_versions(
    const FleetOptions& options, const Versions& versions,
    std::vector<compare::Collector> collectors, Shown& shown);

/// Compares both, within strata if requested, and returns what a report calls them.
base::Outcome<compare::Comparison> compare_versions(const FleetOptions& options,
                                                    const Versions& versions,
                                                    const compare::Grouping& grouping,
                                                    Shown& shown);

}  // namespace geiger::cli
