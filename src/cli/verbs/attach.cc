// `geiger attach`: records a process that runs already.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help/command_line.h"
#include "cli/options/run_options.h"
#include "cli/verbs/commands.h"
#include "run/attach_session.h"

namespace geiger::cli {
namespace {

/// The process ended while it was recorded.
constexpr int kExitEnded = 3;

base::Outcome<int> attach_to(run::AttachOptions& options) {
  GEIGER_TRY(settle_interval(options.recording, run::IntervalWish::kSize));
  return GEIGER_TRY(run::attach_and_watch(options)) ? kExitOk : kExitEnded;
}

}  // namespace

void register_attach(CLI::App& app, Work& work) {
  auto options = std::make_shared<run::AttachOptions>();
  CLI::App* attach = app.add_subcommand("attach", "Record a process that is already running");
  attach->add_option("PID", options->pid, "Process id")->required()->check(process_id());
  add_output_options(*attach, options->recording);
  add_sampling_options(*attach, options->recording);
  add_bounds(*attach, options->recording);
  add_duration_option(*attach, options->recording, "Detach after this long (default: at ^C)");
  add_watch_options(*attach, options->recording.watch);
  add_holders_option(*attach, options->recording.watch, "end");
  add_content_option(*attach, options->recording);
  attach->add_flag("--despite-seccomp", options->despite_seccomp,
                   "Attach even if it is not known whether the process may make the\n"
                   "system calls of the runtime: if its filter cannot be read, or\n"
                   "depends on their arguments (docs/guide/attach.md)");
  attach->footer(
      "\nThe process stops for a few milliseconds. Earlier allocations are not visible.\n"
      "Recording ends at ^C, after the duration or when the process ends; after ^C or\n"
      "the duration the process runs on as before. Needs permission to trace it: the\n"
      "same user and kernel.yama.ptrace_scope 0, or root.\n"
      "\nExit code: 0 recorded, 1 refused (the process is unchanged), 2 usage error,\n"
      "3 the process ended before geiger detached (what was recorded is kept).\n"
      "\nExample:\n"
      "  geiger attach --duration 30s -o leak.geiger $(pidof redis-server)\n");
  attach->callback([options, &work] { work = [options] { return attach_to(*options); }; });
}

}  // namespace geiger::cli
