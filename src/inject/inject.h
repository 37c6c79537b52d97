// Loads the runtime into a running process, and makes requests of a loaded runtime, through a
// thread that is borrowed at a safe point (safe_point.h, borrowed_thread.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/outcome.h"
#include "base/unique_fd.h"

namespace geiger::inject {

struct Order {
  pid_t pid = 0;
  bool despite_seccomp = false;
};

// A failure leaves the process unchanged. Each works in a process of ours, which lives on if geiger
// is killed while a thread is borrowed, until that has its registers back.

/// Loads the runtime unless it is loaded, and starts recording. `library`: its file here;
/// `settings`: lines GEIGER_X=Y. Returns how long the borrowed thread was stopped.
[[nodiscard]] base::Outcome<std::chrono::nanoseconds> attach(const Order& order,
                                                             const std::string& library,
                                                             const std::string& settings);

/// Lets the runtime find libraries loaded since.
[[nodiscard]] base::Outcome<void> follow(const Order& order);

/// Ends recording; the library stays, dormant.
[[nodiscard]] base::Outcome<void> detach(const Order& order);

/// A process with a copy of another one's memory, which never runs. It ends with this, and with us:
/// a process of ours keeps it.
class MemoryCopy {
 public:
  MemoryCopy(pid_t keeper, base::UniqueFd life) : keeper_(keeper), life_(std::move(life)) {}
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;
  ~MemoryCopy();

 private:
  pid_t keeper_;
  base::UniqueFd life_;
};

struct Copied {
  std::shared_ptr<MemoryCopy> copy;
  pid_t pid = 0;
  std::uint64_t begun = 0, done = 0;  ///< CLOCK_MONOTONIC, ns: what it shows lies in between.
  pid_t thread = 0;                   ///< The one that was stopped for it, and
  std::uint64_t stack_pointer = 0;    ///< what it had.
  std::vector<std::uint64_t> registers;
  bool was_only_thread = false;  ///< Then the copy is of one instant.
};

/// Copies the memory of a process. Fails where it might not be able to afford that, or would notice
/// it.
[[nodiscard]] base::Outcome<Copied> copy_memory(const Order& order);

}  // namespace geiger::inject
