// `geiger lifetimes`: how long objects live.
#include "analysis/report/lives/lifetimes.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/output.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "query/words.h"

namespace geiger::cli {
namespace {

using profile::LifetimeGrouping;

struct LifetimesArguments {
  ReadOptions read;
  report::LifetimesOptions lifetimes;
  PictureOptions picture;
  query::SelectionOptions selection;  ///< A window and filters.
};

const Choices<LifetimeGrouping> kGroupings{
    {"function", LifetimeGrouping::kFunction}, {"line", LifetimeGrouping::kLine},
    {"stack", LifetimeGrouping::kStack},       {"thread", LifetimeGrouping::kThread},
    {"size", LifetimeGrouping::kSize},         {"none", LifetimeGrouping::kWhole}};

/// Weighs every sample by itself, so half of them will not do.
base::Outcome<void> select(LifetimesArguments& options, const profile::Recording& recording) {
  GEIGER_TRY(check_followed(recording, "lifetimes"));
  auto subject = GEIGER_TRY(subject_in(options.selection, recording));
  if (subject.selection.is_chosen_by_samples) {
    return usage_failure(
        "lifetimes: a window that starts or ends at the peak has only some of the samples");
  }
  profile::LifetimeSelection& selection = options.lifetimes.selection;
  selection.allocated_in.from = subject.selection.from.value_or(selection.allocated_in.from);
  selection.allocated_in.to = subject.selection.to.value_or(selection.allocated_in.to);
  selection.keeps = std::move(subject.selection.keeps);
  options.lifetimes.scope = std::move(subject.scope);
  return {};
}

base::Outcome<int> print_lifetimes(LifetimesArguments& options) {
  GEIGER_TRY(may_write(options.picture));
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  options.lifetimes.level = options.read.level;
  GEIGER_TRY(select(options, input.recording()));
  const report::LifetimesReport report =
      report::lifetimes_report(input.recording(), options.lifetimes);
  GEIGER_TRY(write_picture(options.picture, [&] { return to_svg(report); }));
  if (!print(report, options.read, input.recording())) return kExitFailed;
  if (!options.read.is_json) suggest("leaks", options.read.runs);
  return input.exit_code();
}

void add_times(CLI::App& verb, LifetimesArguments& options) {
  add_parsed(verb, "--temporary", "TIME",
             "Objects that live up to this are temporary (default 1ms)",
             query::parse_positive_duration,
             [&options](Nanoseconds limit) { options.lifetimes.temporary = limit; });
  add_window_options(verb, options.selection);
  add_filter_options(verb, options.selection);
  add_frame_options(verb, options.read.frames);
}

}  // namespace

void register_lifetimes(CLI::App& app, Work& work) {
  auto options = std::make_shared<LifetimesArguments>();
  CLI::App* verb =
      app.add_subcommand("lifetimes", "How long objects live, and where they are freed");
  add_read_options(*verb, options->read);
  add_choice(*verb, "--by", "GROUP", "function (default), line, stack, thread, size or none",
             kGroupings, [options](LifetimeGrouping by) { options->lifetimes.by = by; });
  add_number(*verb, "--top", "N", options->lifetimes.top, "Rows to show (default 30; 0: all)");
  add_times(*verb, *options);
  verb->add_flag("--observed-only", options->lifetimes.selection.observed_only,
                 "Only objects whose free was recorded; over-represents short lives");
  add_picture_options(*verb, options->picture);
  verb->footer(
      "\nObjects alive at the end count for the time they were observed\n"
      "(docs/guide/lifetimes.md). The thread that frees is always recorded, its stack only\n"
      "with geiger run --free-stacks.\n");
  verb->callback([options, &work] { work = [options] { return print_lifetimes(*options); }; });
}

}  // namespace geiger::cli
