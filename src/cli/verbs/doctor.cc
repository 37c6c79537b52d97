// `geiger doctor`: what a recording says about itself.
#include "analysis/report/overview/doctor.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/machine/load.h"
#include "cli/options/foreign.h"
#include "cli/options/input.h"
#include "cli/options/print.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/machine_report.h"

namespace geiger::cli {
namespace {

struct DoctorArguments : ReadOptions {
  bool examines_machine = false;
  std::string load;  ///< Of this process, which a report of the machine records.
};

base::Outcome<int> examine(const DoctorArguments& options) {
  if (!options.load.empty()) return carry_load(options.load);
  if (options.examines_machine) return report_machine();
  const auto input = GEIGER_TRY(only_own(read_input(options), "doctor"));
  report::DoctorOptions doctor;
  doctor.level = options.level;
  doctor.run = input.shown;
  doctor.is_damaged = input.ingested.damaged;
  const report::DoctorReport report = report::doctor_report(input.recording(), doctor);
  const bool is_printed = print(report, options, input.recording());
  return is_printed && report.is_healthy() ? kExitOk : kExitFailed;
}

}  // namespace

void register_doctor(CLI::App& app, Work& work) {
  auto options = std::make_shared<DoctorArguments>();
  CLI::App* verb = app.add_subcommand("doctor", "Check a recording for defects and missing data");
  add_read_options(*verb, *options);
  const std::vector<CLI::Option*> of_recordings =
      verb->get_options([verb](const CLI::Option* each) { return each != verb->get_help_ptr(); });
  CLI::Option* machine =
      verb->add_flag("--machine", options->examines_machine,
                     "Examine this machine instead: record loads of geiger's own,\n"
                     "and print a report to send with questions (a minute)");
  for (CLI::Option* each : of_recordings) machine->excludes(each);
  verb->add_option("--machine-load", options->load)->group("");
  verb->footer(
      "\nTests the sampler against its own counts (hits against trials, positions of\n"
      "sampled bytes, agreement of threads) and the samples against the exact totals.\n"
      "Reports what is missing, how it affects the numbers and what to do about it.\n"
      "\nExit code: 0 healthy, 1 defect found or damaged input, 2 usage error.\n"
      "\nExamples:\n"
      "  geiger doctor                    the newest run here\n"
      "  geiger doctor a.geiger b.geiger  can these two be merged?\n"
      "  geiger doctor --machine          does geiger work on this machine?");
  verb->callback([options, &work] { work = [options] { return examine(*options); }; });
}

}  // namespace geiger::cli
