// `geiger table`: where the memory went.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "analysis/profile/measured.h"
#include "analysis/report/table.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;
using report::SortBy;

struct Options {
  ReadOptions read;
  report::TableOptions table;
  profile::Selection selection;
};

const std::map<std::string, GroupBy> kGroups{
    {"function", GroupBy::kFunction}, {"stack", GroupBy::kStack}, {"module", GroupBy::kModule}};
const std::map<std::string, SortBy> kSorts{{"self", SortBy::kSelf},
                                           {"total", SortBy::kTotal},
                                           {"samples", SortBy::kSamples},
                                           {"name", SortBy::kName}};

int print_table(Options& options) {
  options.read.observes_running = profile::is_measured(options.selection.kind);
  const auto input = read_input(options.read);
  if (!input) return kExitFailed;
  options.table.level = options.read.level;
  if (!can_select(input->recording(), options.selection)) return kExitFailed;
  const profile::Profile profile = profile::select(input->recording(), options.selection);
  const report::TableReport report =
      report::table_report(input->recording(), profile, options.table);
  const report::Style style = output_style(options.read.level);
  const bool is_printed = options.read.is_json ? print_data(to_json(report, input->recording()))
                                               : print_report(to_text(report, style), style);
  return is_printed ? input->exit_code() : kExitFailed;
}

}  // namespace

void register_table(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("table", "Where the memory went, row by row");
  add_read_options(*verb, options->read);
  add_part_kind_option(*verb, options->selection.kind);
  add_moment_option(*verb, options->selection.moment);
  verb->add_option_function<std::string>(
          "--by", [options](const std::string& name) { options->table.by = kGroups.at(name); },
          "function (default), stack or module")
      ->check(CLI::IsMember({"function", "stack", "module"}))
      ->type_name("GROUP");
  verb->add_option_function<std::string>(
          "--sort", [options](const std::string& name) { options->table.sort = kSorts.at(name); },
          "self (default), total, samples or name")
      ->check(CLI::IsMember({"self", "total", "samples", "name"}))
      ->type_name("COLUMN");
  verb->add_option("--top", options->table.top, "Rows to show (default 30; 0: all)")
      ->type_name("N");
  verb->callback([options, &exit_code] { exit_code = print_table(*options); });
}

}  // namespace geiger::cli
