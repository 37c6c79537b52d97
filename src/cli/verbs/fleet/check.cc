// `geiger fleet check`: limits on a version.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/gates.h"
#include "cli/options/gate_options.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"

namespace geiger::cli {
namespace {

struct FleetCheckArguments {
  FleetOptions fleet;
  std::vector<std::string> named;
  Versions versions;
  GateOptions gates;
};

/// Per total, the whole is the same on both sides whatever happened: a limit on it is one on parts,
/// where it says which.
base::Outcome<void> settle_units(compare::Gates& gates, const Versions& versions) {
  if (versions.per != Per::kTotal) return {};
  const auto is_whole = [](const compare::GateSpec& spec) {
    return spec.pattern.matches_everything();
  };
  if (!gates.per_site.empty()) {
    std::erase_if(gates.specs, [&](const compare::GateSpec& spec) {
      return is_whole(spec) && spec.source.starts_with("--");
    });
  }
  const auto whole = std::ranges::find_if(gates.specs, is_whole);
  if (whole == gates.specs.end()) return {};
  return base::Failure{fmt::format(
      "{} limits the total, which --per total divides by: it would always pass. Limit parts (--by "
      "function, or functions in a --budget), or choose --per load, host or hour",
      whole->source)};
}

base::Outcome<int> check_fleet(FleetCheckArguments& options) {
  auto gates = GEIGER_TRY(gates_of(options.gates).failing_as(base::Fault::kUsage, "fleet check: "));
  const bool needs_before = has_growth_limit(gates);
  if (options.named.size() != (needs_before ? 2 : 1)) {
    return usage_failure(needs_before
                             ? "fleet check: limits on growth need two versions: BEFORE AFTER"
                             : "fleet check: name one version to check");
  }
  GEIGER_TRY(
      settle_units(gates, options.versions).failing_as(base::Fault::kUsage, "fleet check: "));
  if (needs_before) options.versions.before = options.named[0];
  options.versions.after = options.named.back();
  Shown shown;
  std::vector<compare::Collector> one;
  one.emplace_back(options.fleet.kind, options.gates.grouping, patterns_of(gates));
  const auto collected =
      GEIGER_TRY(collect_versions(options.fleet, options.versions, std::move(one), shown));
  options.gates.check.before = std::move(shown.before);
  options.gates.check.after = std::move(shown.after);
  options.gates.check.run = "host";
  options.gates.check.per = std::move(shown.per);
  options.gates.check.scope.fleet = std::move(shown.fleet);
  options.gates.check.level = options.fleet.level;
  options.gates.is_json = options.fleet.is_json;
  return print_gates(options.gates, options.fleet.kind, gates, collected.front());
}

}  // namespace

void add_fleet_check(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetCheckArguments>();
  CLI::App* verb =
      fleet.add_subcommand("check", "Check limits on a version, as a gate of releases");
  verb->add_option("VERSION", options->named,
                   "Version before and version after; without limits on growth\n"
                   "only the version to check")
      ->type_name("")
      ->required();
  add_comparison_options(*verb, options->versions);
  add_gate_options(*verb, options->gates);
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->footer(
      "\nLimits are per host. Exit code: 0 all limits are met, 3 a limit is exceeded,\n"
      "4 undecided (the report says what would decide), 1 the store cannot be read,\n"
      "2 usage error.\n");
  verb->callback([options, &work] { work = [options] { return check_fleet(*options); }; });
}

}  // namespace geiger::cli
