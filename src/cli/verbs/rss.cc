// `geiger rss`: what the resident memory of a process consists of.
#include "analysis/report/overview/rss.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help/command_line.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

struct RssArguments {
  ReadOptions read;
  report::RssOptions rss;
};

base::Outcome<int> print_rss(RssArguments& options) {
  options.read.observes_running = true;
  const auto input = GEIGER_TRY(only_own(read_traces(options.read), "rss"));
  const profile::Recording& recording = input.recording();
  GEIGER_TRY(check_followed(recording, "rss"));
  options.rss.level = options.read.level;
  options.rss.run = input.shown;
  const auto report = GEIGER_TRY(report::rss_report(recording, options.rss));
  const bool is_printed = print(report, options.read, recording);
  return is_printed ? input.exit_code() : kExitFailed;
}

}  // namespace

void register_rss(CLI::App& app, Work& work) {
  auto options = std::make_shared<RssArguments>();
  CLI::App* verb = app.add_subcommand("rss", "What resident memory (RSS) consists of");
  add_read_options(*verb, options->read);
  add_moment_option(*verb, options->rss.moment);
  verb->add_option("--pid", options->rss.pid, "Process to show (default: the largest)")
      ->check(process_id())
      ->type_name("PID");
  verb->callback([options, &work] { work = [options] { return print_rss(*options); }; });
}

}  // namespace geiger::cli
