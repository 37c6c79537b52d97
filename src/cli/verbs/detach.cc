// `geiger detach`: ends a recording whose `geiger attach` is gone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help/choice.h"
#include "cli/verbs/commands.h"
#include "inject/inject.h"
#include "inject/target.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

int detach_by(const inject::Order& order) {
  const auto runtime = inject::runtime_in(order.pid, inject::named_modules_of(order.pid));
  const auto detached = inject::detach(order);
  terminal::complain(!detached.reason.empty()
                         ? detached.reason
                         : fmt::format("detached from process {}; its traces are in {}", order.pid,
                                       runtime ? runtime->said.directory : "its GEIGER_DIR"));
  return detached.reason.empty() ? kExitOk : kExitFailed;
}

}  // namespace

void register_detach(CLI::App& app, int& exit_code) {
  auto order = std::make_shared<inject::Order>();
  CLI::App* verb = app.add_subcommand("detach", "End what a 'geiger attach' that was killed left");
  verb->add_option("PID", order->pid, "The process")->required()->check(process_id());
  verb->add_flag("--despite-seccomp", order->despite_seccomp, "As 'geiger attach' was told");
  verb->footer(
      "\nExit code: 0 detached, 1 not attached, or refused (the process is untouched), 2 usage.\n");
  verb->callback([order, &exit_code] { exit_code = detach_by(*order); });
}

}  // namespace geiger::cli
