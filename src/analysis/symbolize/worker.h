// The process that reads debug files. A damaged or malicious one can at worst
// end it: memory and time are limited, and it answers over a pipe with a format
// that is checked like any input.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "analysis/symbolize/file.h"
#include "analysis/symbolize/module_names.h"
#include "base/units.h"

namespace geiger::symbolize {

struct WorkerLimits {
  Bytes memory = 4 * kGiB;              ///< Beyond what the parent holds at the fork.
  std::chrono::milliseconds silence{};  ///< Longest time between two messages.
};

/// What the worker says: so many addresses of the current job are done, or the
/// job's answer.
struct WorkerMessage {
  std::size_t done = 0;
  std::optional<ModuleAnswer> answer;
};

/// Works through `jobs` in order, in a forked process. The calling process must
/// have no other threads that hold locks (a command line at that point has none).
class Worker {
 public:
  using Work = std::function<ModuleAnswer(const ModuleJob&,
                                          const std::function<void(std::size_t)>& progress)>;

  /// Forks; `work` runs in the child for each job.
  Worker(std::span<const ModuleJob> jobs, const Work& work, const WorkerLimits& limits);
  /// Ends the process if it still runs.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The next message, or nothing: the process is done, dead, silent for too
  /// long, or talks nonsense.
  [[nodiscard]] std::optional<WorkerMessage> receive();

 private:
  [[nodiscard]] std::optional<std::string> read_exactly(std::size_t bytes);

  WorkerLimits limits_;
  pid_t pid_ = -1;
  FileDescriptor answers_;
};

}  // namespace geiger::symbolize
