// How a verb ends: what it prints, its exit code or the reason why it could not be done,
// the next command.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "terminal/terminal.h"

namespace geiger::cli {

// The exit codes of geiger.

/// Exit codes of every verb but `run`, which passes on the program's own.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  ///< Something failed or the input was damaged.
inline constexpr int kExitUsage = 2;
/// Of `check`: a limit is exceeded; of `leaks --fail`: suspects; of `faults --fail`: faults.
inline constexpr int kExitOverLimit = 3;
/// Of `check` and `leaks --fail`: the samples do not support an answer.
inline constexpr int kExitUndecided = 4;

// How a verb ends: with an exit code, or with the reason why it could not be done.

/// What a verb does when the command line is parsed: its exit code, or why it could not be done.
/// What it has already reported itself, on either stream, is an exit code.
using Work = std::function<base::Outcome<int>()>;

/// A failure that points to the verb's help.
[[nodiscard]] base::Failure usage_failure(std::string reason);

/// Prints why something could not be done. `help` is the command whose --help explains it. Returns
/// the exit code.
[[nodiscard]] int end_with(const base::Failure& failure, const std::string& help);

// Suggests the next command, for a user at a terminal.

/// "geiger: next: geiger VERB RUNS" on standard error, where that and standard output are
/// terminals: nothing of it reaches a pipe, a file or a log. Reports that say it themselves do
/// without. `verb` stands before the runs, with its options.
void suggest(const std::string& verb, const std::vector<std::string>& runs);

/// A whole command that is not one of geiger's, after a file was written: standard output may
/// be anything then.
void suggest_command(const std::string& command);

/// From now on neither says anything (-q).
void suggest_nothing();

// Prints what a verb reports: as JSON, or as text for the terminal.

/// Prints to_json or to_text of a report, as --json and --ci in the verb's options have it, with
/// the `recording` for those that take their names from it. False: standard output could not be
/// written.
template <typename Report, typename Options, typename... Recording>
[[nodiscard]] bool print(const Report& report, const Options& options,
                         const Recording&... recording) {
  if (options.is_json) return terminal::print_data(to_json(report, recording...));
  const present::Style style = terminal::output_style(options.level);
  if constexpr (requires { to_text(report, recording..., style); }) {
    return terminal::print_report(to_text(report, recording..., style), style);
  } else {
    return terminal::print_report(to_text(report, style), style);
  }
}

}  // namespace geiger::cli
