// `geiger attach`: records a process that runs already.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help/choice.h"
#include "cli/options/run_options.h"
#include "cli/verbs/commands.h"
#include "run/attach_session.h"

namespace geiger::cli {

void register_attach(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<run::AttachOptions>();
  CLI::App* attach = app.add_subcommand("attach", "Record a process that runs already");
  attach->add_option("PID", options->pid, "The process")->required()->check(process_id());
  add_output_options(*attach, options->recording);
  add_sampling_options(*attach, options->recording);
  add_duration_option(*attach, options->recording, "Detach after this long (default: at ^C)");
  attach->add_flag("--despite-seccomp", options->despite_seccomp,
                   "Attach though the process filters its system calls, as in a container\n"
                   "whose filter allows what the runtime needs (docs/attach.md)");
  attach->footer(
      "\nThe process stands still for some milliseconds and runs on. What it allocated before is\n"
      "not known. ^C, the duration or its end end the recording; it goes on as before.\n"
      "Needs the right to trace it: the same user and kernel.yama.ptrace_scope 0, or root.\n"
      "\nExit code: 0 recorded, 1 refused (the process is untouched), 2 usage.\n"
      "\nExample:\n"
      "  geiger attach --duration 30s -o leak.geiger $(pidof redis-server)\n");
  attach->callback([options, &exit_code] {
    settle_interval(options->recording, run::IntervalWish::kSize);
    exit_code = run::attach_and_watch(*options) ? kExitOk : kExitFailed;
  });
}

}  // namespace geiger::cli
