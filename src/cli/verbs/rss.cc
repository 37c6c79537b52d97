// `geiger rss`: what the resident memory of a process consists of.
#include "analysis/report/overview/rss.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/foreign.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct RssArguments {
  ReadOptions read;
  report::RssOptions rss;
};

int print_rss(RssArguments& options) {
  options.read.observes_running = true;
  const auto input = read_traces(options.read);
  if (!input || is_refused(*input, "rss")) return kExitFailed;
  const profile::Recording& recording = input->recording();
  refuse_aggregated(recording, "rss");
  options.rss.level = options.read.level;
  options.rss.run = input->shown;
  const report::RssOutcome outcome = report::rss_report(recording, options.rss);
  if (!outcome.report) {
    terminal::complain(outcome.reason);
    return kExitFailed;
  }
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed =
      options.read.is_json
          ? terminal::print_data(to_json(*outcome.report, recording))
          : terminal::print_report(to_text(*outcome.report, recording, style), style);
  return is_printed ? input->exit_code() : kExitFailed;
}

}  // namespace

void register_rss(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RssArguments>();
  CLI::App* verb = app.add_subcommand("rss", "What resident memory (RSS) consists of");
  add_read_options(*verb, options->read);
  add_moment_option(*verb, options->rss.moment);
  verb->add_option("--pid", options->rss.pid, "Process to show (default: the largest)")
      ->type_name("PID");
  verb->callback([options, &exit_code] { exit_code = print_rss(*options); });
}

}  // namespace geiger::cli
