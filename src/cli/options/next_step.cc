#include "cli/options/next_step.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

bool is_silent = false;

// More would be a wall of paths.
constexpr std::size_t kMostRuns = 3;

bool needs_no_quotes(char c) {
  constexpr std::string_view kPlain = "_-./+,:@%=";
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x80 || std::isalnum(u) != 0 || kPlain.find(c) != std::string_view::npos;
}

}  // namespace

void suggest(const std::string& before, const std::vector<std::string>& runs,
             const std::string& after) {
  if (isatty(STDOUT_FILENO) != 1 || runs.size() > kMostRuns) return;
  std::string command = "geiger " + before;
  for (const std::string& run : runs) command += " " + as_typed(run);
  suggest_command(command + after);
}

void suggest_command(const std::string& command) {
  if (is_silent || isatty(STDERR_FILENO) != 1) return;
  terminal::complain("next: " + command);
}

void suggest_nothing() { is_silent = true; }

std::string as_typed(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, needs_no_quotes)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace geiger::cli
