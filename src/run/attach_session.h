// One attachment, from looking at the process to the end of its recording.
#pragma once

#include <sys/types.h>

#include "base/outcome.h"
#include "run/supervisor.h"

namespace geiger::run {

struct AttachOptions {
  pid_t pid = 0;
  bool despite_seccomp = false;
  RunOptions recording;  ///< Without a program.
};

/// Attaches, watches until a signal, the duration's or the process's end, detaches, and prints what
/// was recorded. False: the process ended, or executed another program, before it was detached
/// from.
base::Outcome<bool> attach_and_watch(const AttachOptions& options);

}  // namespace geiger::run
