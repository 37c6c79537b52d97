// A program that restricts its system calls (seccomp, syscall user dispatch) does not expect ours:
// from then on the runtime makes only those that any allocator makes (base/raw_syscall.h). The
// trace continues in the storage allocated before. New thread names, children by fork and further
// storage are no longer recorded or allocated.
//
// Threads: several may confine at once; a filter of one thread counts for all. Signals: safe.
// Fork: the child stays confined. Allocates: never.
#pragma once

#include "base/raw_syscall.h"
#include "base/units.h"

namespace geiger::capture {

[[nodiscard]] inline bool is_confined() {
  return base::confinement.load(std::memory_order_relaxed) != base::Confinement::kNone;
}

/// One attempt of the program to restrict itself; construct it before the kernel is asked. Total
/// confinement leaves no system call, or no processor's clock (seccomp's strict mode,
/// PR_SET_SYSCALL_USER_DISPATCH, PR_SET_TSC), so recording ends.
class Attempt {
 public:
  /// Allocates the storage that may be needed; no system calls after this.
  explicit Attempt(base::Confinement wanted);
  /// True: the kernel accepted. False: restores the state from before.
  void end(bool is_in_force) const;

 private:
  base::Confinement before_;
  base::Confinement wanted_;
  Nanoseconds begun_;
};

}  // namespace geiger::capture
