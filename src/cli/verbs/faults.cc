// `geiger faults`: wrong uses of memory that guard mode saw.
#include "analysis/report/faults/faults.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {
namespace {

struct FaultsArguments {
  ReadOptions read;
  report::FaultsOptions faults;
  bool fails = false;
};

base::Outcome<int> print_faults(FaultsArguments& options) {
  const auto input = GEIGER_TRY(only_own(read_input(options.read), "faults"));
  const report::FaultsReport report = report::faults_report(input.recording(), options.faults);
  if (!report.guarding.is_on) {
    return base::Failure{"the run was not recorded in guard mode: geiger run --guard -- PROGRAM",
                         base::Fault::kRequest};
  }
  if (!print(report, options.read, input.recording())) return kExitFailed;
  return options.fails && report.faults > 0 ? kExitOverLimit : input.exit_code();
}

}  // namespace

void register_faults(CLI::App& app, Work& work) {
  auto options = std::make_shared<FaultsArguments>();
  CLI::App* verb = app.add_subcommand("faults", "Wrong uses of memory, found by run --guard");
  add_read_options(*verb, options->read);
  add_frame_options(*verb, options->read.frames);
  add_number(*verb, "--top", "N", options->faults.top, "Faults to list (default 20; 0: all)");
  verb->add_flag("--fail", options->fails, "Exit with 3 if there are faults");
  verb->footer(
      "\nUse after free, overflows, double and invalid frees, each with the stacks of the\n"
      "allocation and of the free (docs/guide/guard.md).\n"
      "\nExit code: 0 success, 1 failure or damaged input, 2 usage error; with --fail\n"
      "also 3 if there are faults.");
  verb->callback([options, &work] { work = [options] { return print_faults(*options); }; });
}

}  // namespace geiger::cli
