// Loads the runtime into a running process, and makes requests of a loaded runtime, through a
// thread that is borrowed at a safe point (safe_point.h, borrowed_thread.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/outcome.h"

namespace geiger::inject {

struct Order {
  pid_t pid = 0;
  bool despite_seccomp = false;
};

// A failure leaves the process unchanged.

/// Loads the runtime unless it is loaded, and starts recording. `library`: its file here;
/// `settings`: lines GEIGER_X=Y. Returns how long the borrowed thread was stopped.
[[nodiscard]] base::Outcome<std::chrono::nanoseconds> attach(const Order& order,
                                                             const std::string& library,
                                                             const std::string& settings);

/// Lets the runtime find libraries loaded since.
[[nodiscard]] base::Outcome<void> follow(const Order& order);

/// Ends recording; the library stays, dormant.
[[nodiscard]] base::Outcome<void> detach(const Order& order);

}  // namespace geiger::inject
