// `geiger table`: where the memory went.
#include "analysis/report/profiles/table.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/report/profiles/places.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;

/// How rows are written at their source lines; null: the report.
using PlacesForm = std::string (*)(const report::PlacedTable&);

struct TableArguments {
  ReadOptions read;
  PlacesForm places = nullptr;
  bool has_group = false;
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

/// The rows of functions, lines and stacks have a line, where debug information has it.
base::Outcome<void> choose_places(TableArguments& options) {
  if (options.places == nullptr) return {};
  if (options.read.is_json) return usage_failure("--format and --json: choose one");
  GroupBy& by = options.table.by;
  if (!options.has_group) by = GroupBy::kLine;
  if (by == GroupBy::kLine || by == GroupBy::kFunction || by == GroupBy::kStack) return {};
  return usage_failure("--format: rows need a source line: --by line, function or stack");
}

bool print_places(const report::TableReport& report, PlacesForm form) {
  std::error_code error;
  const std::string root = std::filesystem::current_path(error).string();
  if (const std::size_t without = report::count_without_line(report); without != 0) {
    terminal::complain(
        fmt::format("{} without a source line: not listed", present::plural(without, "row")));
  }
  return terminal::print_data(form({report, root}));
}

base::Outcome<int> print_table(TableArguments& options) {
  GEIGER_TRY(choose_places(options));
  options.read.observes_running = profile::is_measured(query::kind_of(options.selection));
  options.read.reads_content = profile::is_of_content(query::kind_of(options.selection));
  options.read.infers_types = options.table.by == GroupBy::kType;
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  options.table.level = options.read.level;
  auto subject = GEIGER_TRY(subject_in(options.selection, input.recording()));
  if (options.table.by == GroupBy::kLifetime) {
    GEIGER_TRY(check_followed(input.recording(), "--by lifetime"));
  }
  GEIGER_TRY(check_holders(input.recording(), options.table.by));
  GEIGER_TRY(check_data(input.recording(), subject.selection));
  options.table.scope = std::move(subject.scope);
  const auto report =
      GEIGER_TRY(report_of(input.recording(), options, std::move(subject.selection)));
  const bool is_printed = options.places != nullptr
                              ? print_places(report, options.places)
                              : print(report, options.read, input.recording());
  if (!is_printed) return kExitFailed;
  if (!options.read.is_json && options.places == nullptr)
    suggest("tree --inverted", options.read.runs);
  return input.exit_code();
}

}  // namespace

void register_table(CLI::App& app, Work& work) {
  auto options = std::make_shared<TableArguments>();
  CLI::App* verb = app.add_subcommand("table", "Where the memory went, row by row");
  add_read_options(*verb, options->read);
  add_choice(*verb, "--by", "GROUP",
             "function (default), line, stack, module, thread, tid, process, size,\n"
             "type, holder, label, lifetime, heap or alignment",
             kGroups, [options](GroupBy by) {
               options->table.by = by;
               options->has_group = true;
             });
  add_choice(*verb, "--format", "FORM",
             "gcc: FILE:LINE: note: ..., as compilers write, for editors and bots;\n"
             "sarif: for code scanning (docs/guide/ci.md). Rows are by line then",
             Choices<PlacesForm>{{"gcc", &report::to_gcc}, {"sarif", &report::to_sarif}},
             [options](PlacesForm form) { options->places = form; });
  add_sort_option(*verb, options->table.sort);
  add_number(*verb, "--top", "N", options->table.top,
             "Rows to show (default 30; 0: all, even without own samples)");
  add_selection_options(*verb, options->selection, query::Kinds::kAll);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return print_table(*options); }; });
}

}  // namespace geiger::cli
