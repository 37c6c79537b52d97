// The process that reads debug files. A damaged or malicious one can at worst
// end it: it is confined (confinement.h), and it answers over a pipe with a format
// that is checked like any input.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "analysis/symbolize/confinement.h"
#include "analysis/symbolize/file.h"
#include "analysis/symbolize/module_names.h"
#include "base/units.h"

namespace geiger::symbolize {

struct WorkerLimits {
  Bytes memory = 4 * kGiB;              ///< Beyond what the parent holds at the fork.
  std::chrono::milliseconds silence{};  ///< Longest time between two messages.
  bool may_use_network = false;
  std::stop_token stop = {};  ///< Once requested, nothing more is received.
  std::function<JobLimits(const ModuleJob&)> of_job = {};  ///< Empty: no others.
};

/// A message of the worker: how many addresses of the current job are done, or the job's answer.
struct WorkerMessage {
  std::size_t done = 0;
  std::optional<ModuleAnswer> answer;
};

/// Works through `jobs` in order, in a forked process. Other threads of the calling process
/// may hold no locks that `work` takes, the C library's own aside: those of `live` and `serve`
/// paint or answer.
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

  /// After the last message: ends the process and returns why it sent no more, where `job` was the
  /// one it worked on. "the process that reads it crashed:
  /// Segmentation fault"
  [[nodiscard]] std::string end(const ModuleJob& job);

 private:
  int reap();
  /// Whether there is something to read, or the end, before it is silent for too long.
  bool await_answer();
  [[nodiscard]] std::optional<std::string> read_exactly(std::size_t bytes);

  WorkerLimits limits_;
  pid_t pid_ = -1;
  bool is_silent_ = false;  ///< Waiting for it was given up.
  base::UniqueFd answers_;
};

}  // namespace geiger::symbolize
