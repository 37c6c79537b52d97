// `geiger stats`: what the allocations were like.
#include "analysis/report/profiles/stats.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "analysis/profile/thinned.h"
#include "analysis/report/study/estimators.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct StatsArguments {
  ReadOptions read;
  report::StatsOptions stats;
  query::SelectionOptions selection;
  bool compares_estimators = false;
};

base::Outcome<int> print_estimators(const StatsArguments& options) {
  const auto input = read_input(options.read);
  if (!input.has_value()) return input.failure();
  const auto subject = subject_in(options.selection, input->recording());
  if (!subject.has_value()) return subject.failure();
  const bool is_split = subject->selection.kind == profile::Kind::kLiveAtPeak ||
                        subject->selection.is_chosen_by_samples;
  const auto followed = check_followed(input->recording(), "--estimators");
  if (!followed.has_value()) return followed.failure();
  if (profile::depends_on_fates(subject->selection) &&
      profile::is_any_thinned(input->recording())) {
    return usage_failure(
        "--estimators: not all samples were tracked until they were freed, which the other "
        "designs cannot handle; use --kind allocated");
  }
  if (is_split) {
    return usage_failure(
        "--estimators: the peak includes only some of the samples, which the other designs "
        "cannot handle");
  }
  const report::EstimatorsReport report = report::estimators_report(
      input->recording(), options.read.level, subject->selection, subject->scope);
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed = options.read.is_json
                              ? terminal::print_data(to_json(report))
                              : terminal::print_report(to_text(report, style), style);
  return is_printed ? input->exit_code() : kExitFailed;
}

base::Outcome<int> print_stats(StatsArguments& options) {
  const auto input = read_input(options.read);
  if (!input.has_value()) return input.failure();
  auto subject = subject_in(options.selection, input->recording());
  if (!subject.has_value()) return subject.failure();
  options.stats.level = options.read.level;
  options.stats.selection = std::move(subject->selection);
  options.stats.scope = std::move(subject->scope);
  const report::StatsReport report = report::stats_report(input->recording(), options.stats);
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed =
      options.read.is_json
          ? terminal::print_data(to_json(report, input->recording()))
          : terminal::print_report(to_text(report, input->recording(), style), style);
  if (!is_printed) return kExitFailed;
  if (!options.read.is_json) suggest("lifetimes", options.read.runs);
  return input->exit_code();
}

}  // namespace

void register_stats(CLI::App& app, Work& work) {
  auto options = std::make_shared<StatsArguments>();
  CLI::App* verb =
      app.add_subcommand("stats", "Sizes, entry points, lifetimes, threads and stack depths");
  add_read_options(*verb, options->read);
  verb->add_option("--threads", options->stats.threads, "Threads to list (default 20; 0: all)")
      ->type_name("N");
  verb->add_flag("--estimators", options->compares_estimators,
                 "Compare the estimators and intervals of all designs instead");
  add_selection_options(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] {
    work = [options] {
      return options->compares_estimators ? print_estimators(*options) : print_stats(*options);
    };
  });
}

}  // namespace geiger::cli
