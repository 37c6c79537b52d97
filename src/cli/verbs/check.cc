// `geiger check`: a gate for CI with three answers.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cli/options/gate_options.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "query/selection.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct CheckArguments {
  std::vector<std::string> runs;
  GateOptions gates;
  query::SelectionOptions selection;
};

/// Whether no run is there: none was named, or a name leads nowhere (what a shell makes of
/// baseline/*.geiger where that matches nothing) or to an empty directory. Some of several is a
/// baseline, and the missing ones are an error.
bool is_missing(const std::vector<std::string>& runs) {
  return std::ranges::all_of(runs, [](const std::string& run) {
    std::error_code error;
    const auto status = std::filesystem::status(run, error);
    return status.type() == std::filesystem::file_type::not_found ||
           (is_directory(status) && std::filesystem::is_empty(run, error));
  });
}

/// The limits and the runs to check.
struct Asked {
  compare::Gates gates;
  Sides sides;
};

base::Outcome<Asked> asked_by(const CheckArguments& options) {
  auto gates = GEIGER_TRY(gates_of(options.gates));
  const bool needs_before = has_growth_limit(gates) && !options.gates.allows_missing_baseline;
  std::vector<std::string> runs = options.runs;
  if (runs.empty() && !needs_before) runs = GEIGER_TRY(named_or_newest(runs));
  auto sides = GEIGER_TRY(sides_of(runs, needs_before));
  GEIGER_TRY(compare::check_level(gates));
  return Asked{std::move(gates), std::move(sides)};
}

base::Outcome<int> run_check(CheckArguments& options) {
  auto [gates, sides] = GEIGER_TRY(asked_by(options).failing_as(base::Fault::kUsage, "check: "));
  const bool uses_labels = options.gates.grouping.by == profile::GroupBy::kLabel ||
                           std::ranges::any_of(gates.specs, [](const compare::GateSpec& spec) {
                             return spec.pattern.is_of_label();
                           });
  if (uses_labels) {
    GEIGER_TRY(query::check_grouping(query::kind_of(options.selection), profile::GroupBy::kLabel)
                   .failing_as(base::Fault::kUsage, "check: "));
  }
  options.gates.check.scope = query::scope_as_typed(options.selection);
  std::vector<compare::GateSpec> not_compared;
  if (options.gates.allows_missing_baseline && is_missing(sides.before)) {
    sides.before.clear();
    not_compared = take_growth_limits(gates);
  }
  options.gates.check.before = sides.before;
  options.gates.check.after = sides.after;
  auto collection = GEIGER_TRY(
      collect(sides,
              compare::Collector(query::kind_of(options.selection), options.gates.grouping,
                                 patterns_of(gates), options.gates.check.level),
              options.selection));
  return print_gates(options.gates, query::kind_of(options.selection), gates, collection.collected,
                     std::move(not_compared));
}

}  // namespace

void register_check(CLI::App& app, Work& work) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* verb = app.add_subcommand("check", "Check limits on growth and bytes, for CI");
  add_side_options(*verb, options->runs,
                   "geiger check [limits] BASELINE RUN\n"
                   "       geiger check [limits] BASELINE... -- RUN...\n"
                   "       geiger check [limits without growth] [RUN]\n");
  verb->footer(
      "\nLimits apply to the total; with --by also to every function, stack, module or\n"
      "label.\n"
      "\nExit code: 0 all limits are met, 3 a limit is exceeded, 4 undecided (the report\n"
      "says what would decide), 1 unreadable input, 2 usage error. With\n"
      "--allow-missing-baseline also 0 if nothing was compared and no other limit is\n"
      "exceeded; the report says so. An answer is wrong with a probability of at most\n"
      "1 - level.\n");
  add_gate_options(*verb, options->gates);
  verb->add_flag("--allow-missing-baseline", options->gates.allows_missing_baseline,
                 "Without a baseline, skip limits on growth and check only\n"
                 "the others, as in a project's first pipeline");
  add_report_options(*verb, options->gates.check.level, options->gates.is_json);
  add_names_option(*verb);
  add_selection_options(*verb, options->selection, query::Kinds::kWithMappings);
  add_frame_options(*verb, options->selection.frames);
  verb->callback([options, &work] { work = [options] { return run_check(*options); }; });
}

}  // namespace geiger::cli
