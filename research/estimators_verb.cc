// `geiger-study estimators`: one run by the estimators of every design.
#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/profile/select/thinned.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "research/estimators.h"
#include "research/verbs.h"
#include "terminal/terminal.h"

namespace geiger::research {
namespace {

struct EstimatorsArguments {
  cli::ReadOptions read;
  query::SelectionOptions selection;
};

base::Outcome<int> print_estimators(const EstimatorsArguments& options) {
  const auto input = cli::read_input(options.read);
  if (!input.has_value()) return input.failure();
  const auto subject = cli::subject_in(options.selection, input->recording());
  if (!subject.has_value()) return subject.failure();
  const bool is_split = subject->selection.kind == profile::Kind::kLiveAtPeak ||
                        subject->selection.is_chosen_by_samples;
  const auto followed = cli::check_followed(input->recording(), "estimators");
  if (!followed.has_value()) return followed.failure();
  if (profile::depends_on_fates(subject->selection) &&
      profile::is_any_thinned(input->recording())) {
    return cli::usage_failure(
        "not all samples were tracked until they were freed, which the other designs cannot "
        "handle; use --kind allocated");
  }
  if (is_split) {
    return cli::usage_failure(
        "the peak includes only some of the samples, which the other designs cannot handle");
  }
  const EstimatorsReport report =
      estimators_report(input->recording(), options.read.level, subject->selection, subject->scope);
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed = options.read.is_json
                              ? terminal::print_data(to_json(report))
                              : terminal::print_report(to_text(report, style), style);
  return is_printed ? input->exit_code() : cli::kExitFailed;
}

}  // namespace

void register_estimators(CLI::App& app, cli::Work& work) {
  auto options = std::make_shared<EstimatorsArguments>();
  CLI::App* verb =
      app.add_subcommand("estimators", "Compare the estimators and intervals of all designs");
  cli::add_read_options(*verb, options->read);
  cli::add_selection_options(*verb, options->selection);
  cli::add_frame_options(*verb, options->read.frames);
  verb->callback([options, &work] { work = [options] { return print_estimators(*options); }; });
}

}  // namespace geiger::research
