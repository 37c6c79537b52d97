#include "cli/options/ending.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "analysis/present/text.h"
#include "terminal/terminal.h"

namespace geiger::cli {

base::Failure usage_failure(std::string reason) { return {std::move(reason), base::Fault::kUsage}; }

int end_with(const base::Failure& failure, const std::string& help) {
  terminal::complain(failure.reason);
  switch (failure.fault) {
    case base::Fault::kInput:
      return kExitFailed;
    case base::Fault::kUsage:
      fmt::print(stderr, "Try '{} --help'.\n", help);
      break;
    case base::Fault::kRequest:
      break;
  }
  return kExitUsage;
}

namespace {

bool is_silent = false;

// More would be a wall of paths.
constexpr std::size_t kMostRuns = 3;

}  // namespace

void suggest(const std::string& verb, const std::vector<std::string>& runs) {
  if (isatty(STDOUT_FILENO) != 1 || runs.size() > kMostRuns) return;
  std::string command = "geiger " + verb;
  for (const std::string& run : runs) command += " " + present::as_typed(run);
  suggest_command(command);
}

void suggest_command(const std::string& command) {
  if (is_silent || isatty(STDERR_FILENO) != 1) return;
  terminal::suggest(command);
}

void suggest_nothing() { is_silent = true; }

}  // namespace geiger::cli
