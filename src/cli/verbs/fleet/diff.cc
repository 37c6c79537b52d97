// `geiger fleet diff`: what changed between two versions.
#include "analysis/report/compare/diff.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "analysis/compare/comparison.h"
#include "cli/options/ending.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"

namespace geiger::cli {
namespace {

struct FleetDiffArguments {
  FleetOptions fleet;
  Versions versions;
  report::DiffOptions diff;
  compare::Grouping grouping;
};

base::Outcome<int> print_fleet_diff(FleetDiffArguments& options) {
  Shown shown;
  auto comparison =
      GEIGER_TRY(compare_versions(options.fleet, options.versions, options.grouping, shown));
  options.diff.before = std::move(shown.before);
  options.diff.after = std::move(shown.after);
  options.diff.run = "host";
  options.diff.per = std::move(shown.per);
  options.diff.load_deviation = shown.load_deviation;
  options.diff.scope.fleet = std::move(shown.fleet);
  const auto report = report::diff_report(std::move(comparison), options.diff);
  return print(report, options.fleet) ? kExitOk : kExitFailed;
}

}  // namespace

void add_fleet_diff(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetDiffArguments>();
  CLI::App* verb = fleet.add_subcommand(
      "diff", "What changed between two versions, each host counting as one run");
  verb->add_option("BEFORE", options->versions.before, "Version before")->type_name("")->required();
  verb->add_option("AFTER", options->versions.after, "Version after")->type_name("")->required();
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_comparison_options(*verb, options->versions);
  verb->add_option("--match", options->versions.match,
                   "Compare hosts only with those that have the same value of\n"
                   "this label, such as zone")
      ->type_name("LABEL");
  add_grouping_options(*verb, options->grouping, true);
  add_number(*verb, "--top", "N", options->diff.top, "Rows to show (default 30; 0: all)");
  verb->add_flag("--all", options->diff.shows_all,
                 "Also show rows whose difference is within noise");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_fleet_diff(*options); }; });
}

}  // namespace geiger::cli
