// `geiger diff`: what changed between two sides of runs.
#include "analysis/report/compare/diff.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// What answers whether a change of the program helped, unless a question was asked.
std::vector<profile::Kind> kinds_of(const query::SelectionOptions& asked) {
  const bool is_asked = asked.kind || !asked.at.empty() || !asked.from.empty() || !asked.to.empty();
  if (is_asked) return {query::kind_of(asked)};
  return {profile::Kind::kLiveAtEnd, profile::Kind::kLiveAtPeak, profile::Kind::kAllocated};
}

base::Outcome<int> print_diff(DiffArguments& options) {
  const auto sides =
      GEIGER_TRY(sides_of(options.runs, true).failing_as(base::Fault::kUsage, "diff: "));
  GEIGER_TRY(query::check_grouping(query::kind_of(options.selection), options.grouping.by)
                 .failing_as(base::Fault::kUsage, "diff: "));
  options.diff.before = sides.before;
  options.diff.after = sides.after;
  options.diff.scope = query::scope_as_typed(options.selection);
  std::vector<compare::Collector> collectors;
  for (const profile::Kind kind : kinds_of(options.selection)) {
    collectors.emplace_back(kind, options.grouping);
  }
  const TakePair follow = [&options](const auto& before, const auto& after) {
    options.diff.advice = report::followed_advice(before, after, options.level);
  };
  auto collections = GEIGER_TRY(collect_all(sides, std::move(collectors), options.selection,
                                            options.diff.scope.is_part() ? TakePair() : follow));
  std::vector<compare::Comparison> comparisons;
  for (compare::Collected& collected : collections.collected) {
    GEIGER_TRY(compare::check_comparable(collected, options.level));
    comparisons.push_back(compare::compare(std::move(collected), options.level));
  }
  const report::DiffReport report =
      report::diff_of_most_changed(std::move(comparisons), options.diff);
  const bool is_printed = print(report, options);
  if (!is_printed || collections.is_damaged) return kExitFailed;
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
  add_number(*verb, "--top", "N", options->diff.top, "Rows to show (default 30; 0: all)");
  verb->add_flag("--all", options->diff.shows_all,
                 "Also show rows whose difference is within noise");
  add_selection_options(*verb, options->selection, query::Kinds::kWithMappings);
  CLI::Option* const kind = verb->get_option("--kind");
  kind->description(
      "default: live, peak or allocated, whose total changed by\nthe largest share;\n" +
      CLI::detail::find_and_replace(kind->get_description(), " (default)", ""));
  add_frame_options(*verb, options->selection.frames);
  verb->callback([options, &work] { work = [options] { return print_diff(*options); }; });
}

}  // namespace geiger::cli
