// Starts the program in the same state as without geiger.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "run/environment.h"

namespace geiger::run {

/// The signal state geiger was started with, which the program inherits.
struct SignalState {
  sigset_t mask;
  struct sigaction child_action;  ///< SIGCHLD: geiger must wait, so it sets its own.
};

/// Blocks every signal but the synchronous faults for this process, so that they
/// are read, not handled, and returns the state before. Dispositions stay as they
/// are (a blocked signal is queued even where it is ignored) except SIGCHLD's,
/// which may not be ignored.
SignalState take_over_signals();

/// Puts that state back.
void restore_signals(const SignalState& state);

/// A forked process that waits for its orders before it executes the program.
class Launch {
 public:
  /// Forks. `argv` must not be empty.
  [[nodiscard]] static base::Outcome<Launch> fork_waiting(std::vector<std::string> argv,
                                                          const SignalState& signals);

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Lets the process execute the program (searched on PATH) with `environment`.
  /// Returns 0 or the errno of the refused execution; then the process is gone
  /// and reaped.
  int execute(const Environment& environment);

 private:
  pid_t pid_ = -1;
  base::UniqueFd orders_;  // to the child: the environment, NUL-separated
  base::UniqueFd answer_;  // from the child: errno of a failed exec, or end of file
};

/// Executes the program (searched on PATH) in this process; returns only if refused: the errno.
int become(std::vector<std::string> argv, Environment environment);

/// Opens /dev/null over each of descriptors 0..2 that is closed, for this process
/// only, so that no file opened later takes a standard stream's place.
void occupy_standard_streams();

// A program run once for its cost alone, without the runtime.

struct Trial {
  int status = 0;  ///< As of waitpid.
  double cpu = 0;  ///< Seconds, user and system, with the processes that it waited for.
  /// The largest RSS of any of these processes. Never less than the anonymous memory of the process
  /// that calls: the kernel keeps it through the call that executes the program.
  Bytes peak = 0;
};

/// Runs `program` (searched on PATH) to its end. It reads from /dev/null and, unless
/// `shows_output`, writes there. Fails if it cannot be started.
[[nodiscard]] base::Outcome<Trial> run_trial(const std::vector<std::string>& program,
                                             const Environment& environment, bool shows_output);

}  // namespace geiger::run
