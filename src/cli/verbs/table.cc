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

base::Outcome<report::TableReport> report_of(const profile::Recording& recording,
                                             const TableArguments& options,
                                             profile::Selection selection) {
  const GroupBy by = options.table.by;
  const auto asked = query::check_grouping(selection.kind, by);
  if (!asked.has_value()) return usage_failure(asked.reason());
  if (by == GroupBy::kHeap) return report::heaps_report(recording, selection, options.table);
  selection.tells_lifetimes = by == GroupBy::kLifetime;
  return report::table_report(recording, profile::select(recording, selection), options.table);
}

base::Outcome<int> print_table(TableArguments& options) {
  options.read.observes_running = profile::is_measured(query::kind_of(options.selection));
  options.read.infers_types = options.table.by == GroupBy::kType || !options.selection.type.empty();
  const auto input = read_input(options.read);
  if (!input.has_value()) return input.failure();
  options.table.level = options.read.level;
  auto subject = subject_in(options.selection, input->recording());
  if (!subject.has_value()) return subject.failure();
  if (options.table.by == GroupBy::kLifetime) {
    const auto followed = check_followed(input->recording(), "--by lifetime");
    if (!followed.has_value()) return followed.failure();
  }
  const auto known = check_data(input->recording(), subject->selection);
  if (!known.has_value()) return known.failure();
  options.table.scope = std::move(subject->scope);
  const auto report = report_of(input->recording(), options, std::move(subject->selection));
  if (!report.has_value()) return report.failure();
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed = options.read.is_json
                              ? terminal::print_data(to_json(report.value(), input->recording()))
                              : terminal::print_report(to_text(report.value(), style), style);
  if (!is_printed) return kExitFailed;
  if (!options.read.is_json) suggest("tree --inverted", options.read.runs);
  return input->exit_code();
}

}  // namespace

void register_table(CLI::App& app, Work& work) {
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
  verb->callback([options, &work] { work = [options] { return print_table(*options); }; });
}

}  // namespace geiger::cli
