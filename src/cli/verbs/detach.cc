// `geiger detach`: ends a recording whose `geiger attach` is gone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/help/command_line.h"
#include "cli/verbs/commands.h"
#include "inject/inject.h"
#include "inject/target.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

base::Outcome<int> detach_by(const inject::Order& order) {
  const auto runtime = inject::runtime_in(order.pid, inject::named_modules_of(order.pid));
  GEIGER_TRY(inject::detach(order));
  terminal::complain(fmt::format("detached from process {}; its traces are in {}", order.pid,
                                 runtime ? runtime->said.directory : "its GEIGER_DIR"));
  return kExitOk;
}

}  // namespace

void register_detach(CLI::App& app, Work& work) {
  auto order = std::make_shared<inject::Order>();
  CLI::App* verb =
      app.add_subcommand("detach", "Detach from a process after 'geiger attach' was killed");
  verb->add_option("PID", order->pid, "Process id")->required()->check(process_id());
  verb->add_flag("--despite-seccomp", order->despite_seccomp, "Same as given to 'geiger attach'");
  verb->footer(
      "\nExit code: 0 detached, 1 not attached or refused (the process is unchanged),\n"
      "2 usage error.\n");
  verb->callback([order, &work] { work = [order] { return detach_by(*order); }; });
}

}  // namespace geiger::cli
