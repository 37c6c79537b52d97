// `geiger summary`: what ran and how well it was seen.
#include "analysis/report/overview/summary.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct SummaryArguments {
  ReadOptions read;
  query::SelectionOptions selection;
};

base::Outcome<int> summarise(const SummaryArguments& options) {
  auto input = GEIGER_TRY(read_input(options.read, options.selection));
  profile::Recording& recording = input.ingested.recording;
  report::SummaryOptions summary;
  auto subject = GEIGER_TRY(subject_in(options.selection, recording));
  summary.level = options.read.level;
  summary.selection = std::move(subject.selection);
  summary.scope = std::move(subject.scope);
  summary.run = input.shown;
  summary.origin = lines_of(input.origins);
  summary.has_all_kinds = true;
  const report::SummaryReport report = report::summary_report(recording, summary);
  if (options.read.is_json) {
    return terminal::print_data(to_json(report, recording)) ? input.exit_code() : kExitFailed;
  }
  for (const std::string& line : input.said()) std::erase(recording.warnings, line);
  const present::Style style = terminal::output_style(options.read.level);
  return terminal::print_report(to_text(report, recording, style), style) ? input.exit_code()
                                                                          : kExitFailed;
}

}  // namespace

void register_summary(CLI::App& app, Work& work) {
  auto options = std::make_shared<SummaryArguments>();
  CLI::App* verb = app.add_subcommand("summary", "What ran, its totals, and how sure they are");
  add_read_options(*verb, options->read);
  add_window_options(*verb, options->selection);
  add_filter_options(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  add_heap_option(*verb, options->selection);
  verb->callback([options, &work] { work = [options] { return summarise(*options); }; });
}

}  // namespace geiger::cli
