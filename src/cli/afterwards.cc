#include "cli/afterwards.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "cli/run_directory.h"
#include "cli/trace_feeder.h"

namespace geiger::cli {
namespace {

// "PROG.PID.N.geiger"; 0 if the name is not of this form.
pid_t pid_in(const std::string& name) {
  const auto end = name.rfind('.', name.size() - std::strlen(".geiger") - 1);
  if (end == std::string::npos || end == 0) return 0;
  const auto begin = name.rfind('.', end - 1);
  if (begin == std::string::npos) return 0;
  return static_cast<pid_t>(std::strtol(name.c_str() + begin + 1, nullptr, 10));
}

std::size_t count_running(const Afterwards& run, const std::vector<std::string>& traces) {
  std::size_t running = 0;
  for (const auto& name : traces) {
    const pid_t pid = pid_in(name);
    if (pid != run.program && is_being_written(run.directory + "/" + name, pid)) ++running;
  }
  return running;
}

void say_nothing_recorded(const Afterwards& run) {
  const std::string reason =
      run.obstacle.empty() ? "the program started no profiled process" : run.obstacle;
  fmt::print(stderr, "geiger: nothing was recorded: {}\n", reason);
}

}  // namespace

AfterwardsResult finish_run(const Afterwards& run) {
  const auto traces = traces_in(run.directory);
  if (traces.empty()) {
    rmdir(run.directory.c_str());
    if (!run.is_quiet) say_nothing_recorded(run);
    return {};
  }
  const std::size_t running = count_running(run, traces);
  if (run.refused != 0) {
    fmt::print(stderr, "geiger: recording stopped early: {}\n", std::strerror(run.refused));
  }
  if (!run.is_quiet && running > 0) {
    fmt::print(stderr, "geiger: {} started processes still run and record\n", running);
  }
  if (!run.is_quiet) {
    fmt::print(stderr, "geiger: {} traces in {}\n", traces.size(), run.shown);
  }
  return {.has_running_processes = running > 0};
}

}  // namespace geiger::cli
