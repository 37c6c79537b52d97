// One attachment, from looking at the process to the end of its recording.
#pragma once

#include <sys/types.h>

#include "run/recording_options.h"

namespace geiger::run {

struct AttachOptions {
  pid_t pid = 0;
  bool despite_seccomp = false;
  RunOptions recording;  ///< Without a program.
};

/// Attaches, watches until a signal, the duration's or the process's end, detaches, and prints what
/// was recorded. False if the process could not be recorded; the reason was printed.
[[nodiscard]] bool attach_and_watch(const AttachOptions& options);

}  // namespace geiger::run
