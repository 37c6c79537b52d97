// `geiger table`: where the memory went.
#include "analysis/report/profiles/table.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/profile/memory/measured.h"
#include "cli/help/choice.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;
using report::SortBy;

struct TableArguments {
  ReadOptions read;
  report::TableOptions table;
  query::SelectionOptions selection;
};

const std::map<std::string, GroupBy> kGroups{
    {"function", GroupBy::kFunction},  {"line", GroupBy::kLine},         {"stack", GroupBy::kStack},
    {"module", GroupBy::kModule},      {"thread", GroupBy::kThread},     {"tid", GroupBy::kTid},
    {"process", GroupBy::kProcess},    {"size", GroupBy::kSize},         {"type", GroupBy::kType},
    {"label", GroupBy::kLabel},        {"lifetime", GroupBy::kLifetime}, {"heap", GroupBy::kHeap},
    {"alignment", GroupBy::kAlignment}};
const std::map<std::string, SortBy> kSorts{{"self", SortBy::kSelf},
                                           {"total", SortBy::kTotal},
                                           {"samples", SortBy::kSamples},
                                           {"name", SortBy::kName},
                                           {"natural", SortBy::kNatural}};

report::TableReport report_of(const profile::Recording& recording, const TableArguments& options,
                              profile::Selection selection) {
  const GroupBy by = options.table.by;
  const auto asked = query::check_grouping(selection.kind, by);
  if (!asked.has_value()) throw CLI::ValidationError(asked.reason());
  if (by == GroupBy::kHeap) return report::heaps_report(recording, selection, options.table);
  selection.tells_lifetimes = by == GroupBy::kLifetime;
  return report::table_report(recording, profile::select(recording, selection), options.table);
}

int print_table(TableArguments& options) {
  options.read.observes_running = profile::is_measured(query::kind_of(options.selection));
  options.read.infers_types = options.table.by == GroupBy::kType || !options.selection.type.empty();
  const auto input = read_input(options.read);
  if (!input) return kExitFailed;
  options.table.level = options.read.level;
  query::Subject subject = subject_or_refuse(options.selection, input->recording());
  if (options.table.by == GroupBy::kLifetime) {
    refuse_aggregated(input->recording(), "--by lifetime");
  }
  if (!can_select(input->recording(), subject.selection)) return kExitFailed;
  options.table.scope = std::move(subject.scope);
  const report::TableReport report =
      report_of(input->recording(), options, std::move(subject.selection));
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed = options.read.is_json
                              ? terminal::print_data(to_json(report, input->recording()))
                              : terminal::print_report(to_text(report, style), style);
  if (!is_printed) return kExitFailed;
  if (!options.read.is_json) suggest("tree --inverted", options.read.runs);
  return input->exit_code();
}

}  // namespace

void register_table(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TableArguments>();
  CLI::App* verb = app.add_subcommand("table", "Where the memory went, row by row");
  add_read_options(*verb, options->read);
  verb->add_option_function<std::string>(
          "--by", [options](const std::string& name) { options->table.by = kGroups.at(name); },
          "function (default), line, stack, module, thread, tid, process, size,\n"
          "type, label, lifetime, heap or alignment")
      ->check(one_of({"function", "line", "stack", "module", "thread", "tid", "process", "size",
                      "type", "label", "lifetime", "heap", "alignment"}))
      ->type_name("GROUP");
  verb->add_option_function<std::string>(
          "--sort", [options](const std::string& name) { options->table.sort = kSorts.at(name); },
          "self (default), total, samples, name, or natural: sizes,\n"
          "lifetimes and alignments in their order")
      ->check(one_of({"self", "total", "samples", "name", "natural"}))
      ->type_name("COLUMN");
  verb->add_option("--top", options->table.top,
                   "Rows to show (default 30; 0: all, even without own samples)")
      ->type_name("N");
  add_selection_options(*verb, options->selection, query::Kinds::kAll);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &exit_code] { exit_code = print_table(*options); });
}

}  // namespace geiger::cli
