// `geiger table`: where the memory went.
#include "analysis/report/profiles/table.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "analysis/profile/memory/measured.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;

struct TableArguments {
  ReadOptions read;
  report::TableOptions table;
  query::SelectionOptions selection;
};

const Choices<GroupBy> kGroups(profile::kGroups.begin(), profile::kGroups.end());

base::Outcome<report::TableReport> report_of(const profile::Recording& recording,
                                             const TableArguments& options,
                                             profile::Selection selection) {
  const GroupBy by = options.table.by;
  GEIGER_TRY(query::check_grouping(selection.kind, by).failing_as(base::Fault::kUsage));
  if (by == GroupBy::kHeap) return report::heaps_report(recording, selection, options.table);
  selection.splits_by_lifetime = by == GroupBy::kLifetime;
  return report::table_report(recording, profile::select(recording, selection), options.table);
}

base::Outcome<int> print_table(TableArguments& options) {
  options.read.observes_running = profile::is_measured(query::kind_of(options.selection));
  options.read.infers_types = options.table.by == GroupBy::kType;
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  options.table.level = options.read.level;
  auto subject = GEIGER_TRY(subject_in(options.selection, input.recording()));
  if (options.table.by == GroupBy::kLifetime) {
    GEIGER_TRY(check_followed(input.recording(), "--by lifetime"));
  }
  GEIGER_TRY(check_data(input.recording(), subject.selection));
  options.table.scope = std::move(subject.scope);
  const auto report =
      GEIGER_TRY(report_of(input.recording(), options, std::move(subject.selection)));
  if (!print(report, options.read, input.recording())) return kExitFailed;
  if (!options.read.is_json) suggest("tree --inverted", options.read.runs);
  return input.exit_code();
}

}  // namespace

void register_table(CLI::App& app, Work& work) {
  auto options = std::make_shared<TableArguments>();
  CLI::App* verb = app.add_subcommand("table", "Where the memory went, row by row");
  add_read_options(*verb, options->read);
  add_choice(*verb, "--by", "GROUP",
             "function (default), line, stack, module, thread, tid, process, size,\n"
             "type, label, lifetime, heap or alignment",
             kGroups, [options](GroupBy by) { options->table.by = by; });
  add_sort_option(*verb, options->table.sort);
  verb->add_option("--top", options->table.top,
                   "Rows to show (default 30; 0: all, even without own samples)")
      ->type_name("N");
  add_selection_options(*verb, options->selection, query::Kinds::kAll);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return print_table(*options); }; });
}

}  // namespace geiger::cli
