// `geiger stats`: what the allocations were like.
#include "analysis/report/profiles/stats.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

struct StatsArguments {
  ReadOptions read;
  report::StatsOptions stats;
  query::SelectionOptions selection;
};

base::Outcome<int> print_stats(StatsArguments& options) {
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  auto subject = GEIGER_TRY(subject_in(options.selection, input.recording()));
  options.stats.level = options.read.level;
  options.stats.selection = std::move(subject.selection);
  options.stats.scope = std::move(subject.scope);
  const report::StatsReport report = report::stats_report(input.recording(), options.stats);
  if (!print(report, options.read, input.recording())) return kExitFailed;
  if (!options.read.is_json) suggest("lifetimes", options.read.runs);
  return input.exit_code();
}

}  // namespace

void register_stats(CLI::App& app, Work& work) {
  auto options = std::make_shared<StatsArguments>();
  CLI::App* verb =
      app.add_subcommand("stats", "Sizes, entry points, lifetimes, threads and stack depths");
  add_read_options(*verb, options->read);
  add_number(*verb, "--threads", "N", options->stats.threads,
             "Threads to list (default 20; 0: all)");
  add_selection_options(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return print_stats(*options); }; });
}

}  // namespace geiger::cli
