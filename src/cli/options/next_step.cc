#include "cli/options/next_step.h"

#include <unistd.h>

#include "analysis/present/text.h"
#include "terminal/terminal.h"

namespace geiger::cli {
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
  terminal::complain("next: " + command);
}

void suggest_nothing() { is_silent = true; }

}  // namespace geiger::cli
