// Comparing versions of a service: each host is a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/collector.h"
#include "base/outcome.h"
#include "cli/options/fleet_options.h"

namespace geiger::cli {

/// What hosts are compared by.
enum class Per : std::uint8_t { kHost, kHour, kTotal };

/// Versions before and after; none before where the limits need none.
struct Versions {
  std::string before, after;
  std::optional<Per> per;  ///< As typed.
};

/// --per.
void add_per_option(CLI::App& verb, std::optional<Per>& per);

/// What the report calls the sides.
struct Shown {
  std::vector<std::string> before, after;
  std::string per;
};

/// Collects both, and says what a report calls them.
base::Outcome<compare::Collected> collect_versions(const FleetOptions& options,
                                                   const Versions& versions,
                                                   compare::Collector collector, Shown& shown);

}  // namespace geiger::cli
