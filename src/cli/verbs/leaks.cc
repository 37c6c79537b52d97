// `geiger leaks`: sites that keep growing.
#include "analysis/report/lives/leaks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "query/selection.h"
#include "query/text_file.h"
#include "query/words.h"

namespace geiger::cli {
namespace {

using profile::LifetimeGrouping;
using profile::Suppressions;

const Choices<LifetimeGrouping> kLeakGroups{{"stack", LifetimeGrouping::kStack},
                                            {"function", LifetimeGrouping::kFunction}};

struct LeaksArguments {
  ReadOptions read;
  report::LeaksOptions leaks;
  query::SelectionOptions selection;  ///< Filters.
  std::string suppressions;
  std::string until;  ///< As typed; empty: not given.
  bool fails = false;
};

base::Outcome<Suppressions> read_suppressions(const std::string& path) {
  if (path.empty()) return Suppressions();
  const auto text = GEIGER_TRY(query::read_text_file(path));
  return Suppressions::parse(text).with_prefix(path + ":");
}

base::Outcome<void> apply_until(LeaksArguments& options, const profile::Recording& recording) {
  if (options.until.empty()) return {};
  auto at = GEIGER_TRY(
      query::instant_of(options.until, recording).failing_as(base::Fault::kUsage, "--until: "));
  const query::Instant::Kind kind = at.kind;
  options.leaks.until = report::GivenInstant{.time = at.time,
                                             .text = std::move(at.text),
                                             .is_end = kind == query::Instant::Kind::kEnd,
                                             .is_peak = kind == query::Instant::Kind::kPeak};
  return {};
}

int exit_code_of(const LeaksArguments& options, const report::LeaksReport& report,
                 const Input& input) {
  // Half a trace may lack half the frees: no answer is better than that one.
  if (input.exit_code() != kExitOk) return input.exit_code();
  if (!options.fails) return kExitOk;
  switch (report.finding()) {
    case report::LeakFinding::kSuspects:
      return kExitOverLimit;
    case report::LeakFinding::kUndecided:
      return kExitUndecided;
    case report::LeakFinding::kClear:
      break;
  }
  return kExitOk;
}

base::Outcome<int> print_leaks(LeaksArguments& options) {
  const auto suppressions =
      GEIGER_TRY(read_suppressions(options.suppressions).failing_as(base::Fault::kRequest));
  const auto input = GEIGER_TRY(read_input(options.read, options.selection));
  GEIGER_TRY(check_followed(input.recording(), "leaks"));
  GEIGER_TRY(apply_until(options, input.recording()));
  auto subject = GEIGER_TRY(subject_in(options.selection, input.recording()));
  options.leaks.search.keeps = std::move(subject.selection.keeps);
  options.leaks.scope = std::move(subject.scope);
  options.leaks.search.level = options.read.level;
  options.leaks.search.suppressions = &suppressions;
  const report::LeaksReport report = report::leaks_report(input.recording(), options.leaks);
  if (!print(report, options.read, input.recording())) return kExitFailed;
  if (!options.read.is_json) suggest("tree --kind live --inverted", options.read.runs);
  return exit_code_of(options, report, input);
}

}  // namespace

void register_leaks(CLI::App& app, Work& work) {
  auto options = std::make_shared<LeaksArguments>();
  CLI::App* verb = app.add_subcommand("leaks", "Sites that keep growing, with the evidence");
  add_read_options(*verb, options->read);
  add_filter_options(*verb, options->selection);
  add_frame_options(*verb, options->read.frames);
  add_choice(*verb, "--by", "GROUP", "stack (default) or function", kLeakGroups,
             [options](LifetimeGrouping by) { options->leaks.search.by = by; });
  add_share(*verb, "--q", "Share of false suspects to accept (default 5%)", 0.5,
            [options](double share) { options->leaks.search.q = share; });
  add_share(*verb, "--warm-up", "Share of the time ignored as warm-up (default 25%)", 0.9,
            [options](double share) { options->leaks.search.warm_up = share; });
  verb->add_option("--until", options->until,
                   std::string("Judge the heap at WHEN (default: before the cleanup at exit):\n") +
                       query::kWhenForms)
      ->type_name("WHEN");
  verb->add_option("--suppressions", options->suppressions,
                   "File of known leaks in LeakSanitizer's format: leak:PATTERN")
      ->type_name("FILE");
  verb->add_flag("--all", options->leaks.shows_all, "Also list the other sites with live bytes");
  add_number(*verb, "--top", "N", options->leaks.top, "Sites to show (default 20; 0: all)");
  verb->add_flag("--fail", options->fails,
                 "Exit with 3 if there are suspects, with 4 if undecided");
  verb->footer(
      "\nMemory alive at the end is not necessarily a leak. Suspects are sites that keep\n"
      "growing after warm-up by more than sampling and the program's own variation\n"
      "explain. A program that frees its heap before it exits is judged at the instant\n"
      "before that (docs/guide/lifetimes.md).\n"
      "\nExit code: 0 success, 1 failure or damaged input, 2 usage error; with --fail\n"
      "also 3 if there are suspects, 4 undecided.");
  verb->callback([options, &work] { work = [options] { return print_leaks(*options); }; });
}

}  // namespace geiger::cli
