// A program run once for its cost alone, without the runtime.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"
#include "run/environment.h"

namespace geiger::run {

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
