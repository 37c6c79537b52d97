// Loads the runtime into a running process, and makes requests of a loaded runtime, through a
// thread that is borrowed at a safe point (safe_point.h, borrowed_thread.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace geiger::inject {

struct Outcome {
  std::string reason;  ///< Empty: done. Else one sentence; the process is unchanged.
  std::chrono::nanoseconds stopped{0};  ///< How long the borrowed thread was stopped.
  int tries = 0;                        ///< Threads stopped to find a safe point.
};

struct Order {
  pid_t pid = 0;
  bool despite_seccomp = false;
};

/// Loads the runtime unless it is loaded, and starts recording. `library`: its file here;
/// `settings`: lines GEIGER_X=Y.
[[nodiscard]] Outcome attach(const Order& order, const std::string& library,
                             const std::string& settings);

/// Lets the runtime find libraries loaded since.
[[nodiscard]] Outcome follow(const Order& order);

/// Ends recording; the library stays, dormant.
[[nodiscard]] Outcome detach(const Order& order);

}  // namespace geiger::inject
