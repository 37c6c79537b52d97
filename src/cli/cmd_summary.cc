// `geiger summary`: what ran and how well it was seen.
#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/report/summary.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

int summarise(const ReadOptions& options) {
  auto input = read_input(options);
  if (!input) return kExitFailed;
  profile::Recording& recording = input->ingested.recording;
  report::SummaryOptions summary;
  summary.level = options.level;
  summary.run = input->shown;
  const report::SummaryReport report = report::summary_report(recording, summary);
  if (options.is_json) {
    return print_data(to_json(report, recording)) ? input->exit_code() : kExitFailed;
  }
  // Damage has been said on standard error already.
  if (input->ingested.damaged) recording.warnings.clear();
  const report::Style style = output_style(options.level);
  return print_report(to_text(report, recording, style), style) ? input->exit_code() : kExitFailed;
}

}  // namespace

void register_summary(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* verb = app.add_subcommand("summary", "What ran, its totals, and how sure they are");
  add_read_options(*verb, *options);
  verb->callback([options, &exit_code] { exit_code = summarise(*options); });
}

}  // namespace geiger::cli
