// One attachment, from looking at the process to the end of its recording.
#pragma once

#include <sys/types.h>

#include "cli/run_options.h"

namespace geiger::cli {

struct AttachOptions {
  pid_t pid = 0;
  bool despite_seccomp = false;
  RunOptions recording;  ///< Without a program.
};

/// Attaches, watches until a signal, the duration's or the process's end, detaches, and
/// says what was recorded. The exit code.
[[nodiscard]] int attach_and_watch(const AttachOptions& options);

}  // namespace geiger::cli
