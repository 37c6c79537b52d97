// `geiger-study estimators`: one run by the estimators of every design.
#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/profile/thinned.h"
#include "cli/options/exit_codes.h"
#include "cli/options/input.h"
#include "cli/options/selection_options.h"
#include "study/estimators.h"
#include "study/verbs.h"
#include "terminal/terminal.h"

namespace geiger::study {
namespace {

struct EstimatorsArguments {
  cli::ReadOptions read;
  query::SelectionOptions selection;
};

int print_estimators(const EstimatorsArguments& options) {
  const auto input = cli::read_input(options.read);
  if (!input) return cli::kExitFailed;
  const query::Subject subject = cli::subject_or_refuse(options.selection, input->recording());
  const bool is_split = subject.selection.kind == profile::Kind::kLiveAtPeak ||
                        subject.selection.is_chosen_by_samples;
  cli::refuse_aggregated(input->recording(), "estimators");
  if (profile::depends_on_fates(subject.selection) && profile::is_any_thinned(input->recording())) {
    throw CLI::ValidationError(
        "not all samples were tracked until they were freed, which the other "
        "designs cannot handle; use --kind allocated");
  }
  if (is_split) {
    throw CLI::ValidationError(
        "the peak includes only some of the samples, which the other designs "
        "cannot handle");
  }
  const EstimatorsReport report =
      estimators_report(input->recording(), options.read.level, subject.selection, subject.scope);
  const present::Style style = terminal::output_style(options.read.level);
  const bool is_printed = options.read.is_json
                              ? terminal::print_data(to_json(report))
                              : terminal::print_report(to_text(report, style), style);
  return is_printed ? input->exit_code() : cli::kExitFailed;
}

}  // namespace

void register_estimators(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EstimatorsArguments>();
  CLI::App* verb =
      app.add_subcommand("estimators", "Compare the estimators and intervals of all designs");
  cli::add_read_options(*verb, options->read);
  cli::add_selection_options(*verb, options->selection);
  cli::add_frame_options(*verb, options->read.frames);
  verb->callback([options, &exit_code] { exit_code = print_estimators(*options); });
}

}  // namespace geiger::study
