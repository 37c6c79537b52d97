// Forwards signals that are sent to geiger to the program.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/unique_fd.h"

namespace geiger::run {

/// Geiger and the program share a process group, so that the terminal, the shell and the kernel
/// treat them as one job. What the kernel sends to the group (^C, ^Z, window size, hang-up) the
/// program gets by itself; what a process sends to geiger's pid alone must be passed on. The two
/// are distinguished by si_code; a kill() of the whole group looks like the latter and reaches the
/// program twice.
///
/// Threads: one. The signals must be blocked (take_over_signals).
class SignalRelay {
 public:
  explicit SignalRelay(pid_t program);

  /// Readable when signals wait.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Takes every waiting signal and passes on those that the program did not get. Returns whether a
  /// child changed its state.
  bool relay();

  /// Drops waiting signals: they were meant for a program that has ended. (kill() of a group
  /// reaches the program first, which may be gone before geiger gets its own.)
  void discard();

  /// Stops this process the way the program was stopped, so that a shell sees the
  /// job stop; returns when continued, with the program continued too.
  void stop_like(int signal);

 private:
  void pass_on(const signalfd_siginfo& info);

  pid_t program_;
  base::UniqueFd fd_;
  bool was_continued_ = false;  // the next SIGCONT has done its work already
};

/// Ends this process by `signal`, without a core file of its own. Returns the
/// exit code to use if the signal cannot end it (process 1 of a namespace).
int die_of(int signal);

}  // namespace geiger::run
