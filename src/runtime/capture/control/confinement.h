// A program that restricts its system calls (seccomp) has not reckoned with ours: from
// then on the runtime makes none but those of any allocator (base/raw_syscall.h). The
// trace goes on in the storage that was allocated before; new thread names, children by
// fork and further storage are given up.
//
// Threads: may confine at once; a filter of one thread counts for all. Signals: safe.
// Fork: the child stays confined. Allocates: never.
#pragma once

#include "base/raw_syscall.h"
#include "base/units.h"

namespace geiger::capture {

[[nodiscard]] inline bool is_confined() {
  return base::confinement.load(std::memory_order_relaxed) != base::Confinement::kNone;
}

/// One attempt of the program to restrict itself: made before the kernel is asked.
/// Total confinement takes the processor's clock away too (seccomp's strict mode, or
/// prctl(PR_SET_TSC)): recording ends with it.
class Attempt {
 public:
  /// Takes what storage may be needed, and makes no call from here.
  explicit Attempt(base::Confinement wanted);
  /// The kernel agreed, or all is as before.
  void end(bool is_in_force) const;

 private:
  base::Confinement before_;
  base::Confinement wanted_;
  Nanoseconds begun_;
};

}  // namespace geiger::capture
