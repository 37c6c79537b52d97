// `geiger report`: all profiles of a run, as one HTML file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/page.h"
#include "analysis/report/overview/summary.h"
#include "cli/help/command_line.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/options/stored_allocators.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/page_file.h"
#include "query/text_file.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct ReportArguments {
  ReadOptions read;
  query::SelectionOptions selection;
  PageFile file;
  bool has_source = false;
  std::vector<std::string> before;  ///< Runs to compare with; none: nothing is compared.
};

base::Outcome<page::PageOptions> page_options(const ReportArguments& options,
                                              const profile::Recording& recording) {
  page::PageOptions page;
  query::SelectionOptions selection = options.selection;
  selection.kind.reset();  // Every one.
  auto subject = GEIGER_TRY(subject_in(selection, recording));
  page.level = options.read.level;
  page.version = GEIGER_VERSION;
  page.selection = std::move(subject.selection);
  page.scope = std::move(subject.scope);
  page.preset = preset_of(options.read.frames);
  return page;
}

/// The comparison that --diff asks for.
base::Outcome<page::ComparedRuns> compare_runs(const ReportArguments& options, const Input& input,
                                               bool& is_damaged) {
  std::vector<compare::Collector> collectors;
  for (const compare::Grouping& grouping : kPageGroupings) {
    collectors.emplace_back(query::kind_of(options.selection), grouping);
  }
  const std::vector<std::string> newest{input.shown};
  query::SelectionOptions selection = options.selection;
  selection.frames = options.read.frames;
  const Sides sides{options.before, options.read.runs.empty() ? newest : options.read.runs};
  auto all = GEIGER_TRY(collect_all(sides, std::move(collectors), selection));
  is_damaged = all.is_damaged;
  return compared_runs(sides.before, sides.after, std::move(all.collected), options.read.level);
}

/// A source file as it is on this machine now. Regular files only: a trace may name anything, a
/// pipe that never ends too, and what /proc makes up has no size.
std::optional<std::string> source_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  if (std::filesystem::file_size(path, error) == 0) return std::nullopt;
  auto text = query::read_text_file(path);
  if (!text.has_value()) return std::nullopt;
  return std::move(text.value());
}

/// The document of the page.
base::Outcome<std::string> document_of(const ReportArguments& options, const Input& input,
                                       bool& is_damaged) {
  terminal::Progress progress("making the page");
  auto page = GEIGER_TRY(page_options(options, input.recording()));
  page.allocators = stored_allocators(input, {.level = options.read.level});
  page.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  if (options.has_source) page.read_source = source_text;
  if (options.before.empty()) return page::page_data(input.recording(), page);
  const auto compared = GEIGER_TRY(compare_runs(options, input, is_damaged));
  page.compared = &compared;
  return page::page_data(input.recording(), page);
}

base::Outcome<int> write_page(const ReportArguments& options, const Input& input) {
  bool is_damaged = false;
  const auto written =
      write_page_file(options.file, page_name(report::program_text(input.recording())),
                      [&] { return document_of(options, input, is_damaged); });
  if (!written.has_value() || written.value() != kExitOk) return written;
  return is_damaged ? kExitFailed : input.exit_code();
}

base::Outcome<int> print_document(const ReportArguments& options, const Input& input) {
  bool is_damaged = false;
  const auto document = GEIGER_TRY(document_of(options, input, is_damaged));
  return !terminal::print_data(document) || is_damaged ? kExitFailed : input.exit_code();
}

base::Outcome<int> make_report(ReportArguments& options) {
  if (!options.read.is_json) GEIGER_TRY(check_page_template());
  options.read.observes_running = true;
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  return options.read.is_json ? print_document(options, input) : write_page(options, input);
}

}  // namespace

void register_report(CLI::App& app, Work& work) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand("report", "One HTML file with everything, for a browser");
  add_read_options(*verb, options->read);
  add_page_file_options(*verb, options->file, "geiger-PROGRAM.html here");
  verb->add_flag("--source", options->has_source,
                 "Embed the source lines that appear, as they are on this machine");
  verb->add_option("--diff", options->before,
                   "Also show what changed since this run; may be repeated for several")
      ->type_name("BEFORE")
      ->allow_extra_args(false);
  verb->add_option_function<std::string>(
          "--kind",
          [options](const std::string& name) {
            options->selection.kind = profile::kind_named(name);
          },
          "What --diff compares: allocated (default), live or peak")
      ->check(one_of(query::names_of(query::Kinds::kOfWholeObjects)))
      ->type_name("KIND");
  add_window_options(*verb, options->selection);
  add_filter_options(*verb, options->selection);
  add_heap_option(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return make_report(*options); }; });
}

}  // namespace geiger::cli
