// `geiger diff`: what changed between two sides of runs.
#include "analysis/report/compare/diff.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "analysis/compare/comparison.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "query/selection.h"

namespace geiger::cli {
namespace {

using report::DiffSort;

struct DiffArguments {
  std::vector<std::string> runs;
  double level = 0.95;
  bool is_json = false;
  report::DiffOptions diff;
  compare::Grouping grouping;
  query::SelectionOptions selection;
};

const Choices<DiffSort> kDiffSorts{{"change", DiffSort::kChange},
                                   {"before", DiffSort::kBefore},
                                   {"after", DiffSort::kAfter},
                                   {"name", DiffSort::kName}};

base::Outcome<int> print_diff(DiffArguments& options) {
  const auto sides =
      GEIGER_TRY(sides_of(options.runs, true).failing_as(base::Fault::kUsage, "diff: "));
  GEIGER_TRY(query::check_grouping(query::kind_of(options.selection), options.grouping.by)
                 .failing_as(base::Fault::kUsage, "diff: "));
  options.diff.before = sides.before;
  options.diff.after = sides.after;
  options.diff.scope = query::scope_as_typed(options.selection);
  auto collection = GEIGER_TRY(
      collect(sides, compare::Collector(query::kind_of(options.selection), options.grouping),
              options.selection));
  GEIGER_TRY(compare::check_comparable(collection.collected, options.level));
  const report::DiffReport report = report::diff_report(
      compare::compare(std::move(collection.collected), options.level), options.diff);
  const bool is_printed = print(report, options);
  if (!is_printed || collection.is_damaged) return kExitFailed;
  if (!options.is_json) suggest("check --max-growth 5%", words_of(sides));
  return kExitOk;
}

}  // namespace

void register_diff(CLI::App& app, Work& work) {
  auto options = std::make_shared<DiffArguments>();
  CLI::App* verb = app.add_subcommand("diff", "What changed between two runs, or two sets of runs");
  add_side_options(*verb, options->runs,
                   "geiger diff [options] BEFORE AFTER\n"
                   "       geiger diff [options] BEFORE... -- AFTER...\n");
  add_report_options(*verb, options->level, options->is_json);
  add_names_option(*verb);
  add_grouping_options(*verb, options->grouping, true);
  add_choice(*verb, "--sort", "COLUMN", "change (default), before, after or name", kDiffSorts,
             [options](DiffSort sort) { options->diff.sort = sort; });
  verb->add_option("--top", options->diff.top, "Rows to show (default 30; 0: all)")->type_name("N");
  verb->add_flag("--all", options->diff.shows_all,
                 "Also show rows whose difference is within noise");
  add_selection_options(*verb, options->selection, query::Kinds::kWithMappings);
  add_frame_options(*verb, options->selection.frames);
  verb->callback([options, &work] { work = [options] { return print_diff(*options); }; });
}

}  // namespace geiger::cli
