// The process that reads debug files, and what it is allowed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "analysis/symbolize/file.h"
#include "analysis/symbolize/module_names.h"
#include "base/units.h"

namespace geiger::symbolize {

// What a process that reads hostile files is allowed: to open files for reading, to
// use memory and time up to a limit, and to write to one pipe.

/// Limits on the cost of one module.
struct JobLimits {
  Bytes memory = 0;                       ///< Private memory beyond what is held already.
  std::chrono::milliseconds processor{};  ///< Processor time.
  std::chrono::milliseconds patience{};   ///< Time by the clock, waiting included.

  bool operator==(const JobLimits&) const = default;
};

/// The limits for files of `file_bytes` in all and this many addresses. With no more than
/// 1 MiB to read, memory stays below half a GiB and processor time below 5 seconds, the
/// second look without debug info included; what is honest takes a tenth of either.
[[nodiscard]] JobLimits job_limits(Bytes file_bytes, std::size_t addresses, bool reads_dwarf);

/// Bytes that `path` has on the disk; 0 if it is not a regular file. (Its length may mislead: a
/// file of holes takes no space.)
[[nodiscard]] Bytes bytes_on_disk(const std::string& path);

/// For a child of fork: dies with `parent`, leaves no core, keeps no descriptor but
/// `out`, talks to no terminal, never has more than `most_memory` beyond what it holds
/// now. Unless it `may_use_network`, a filter of system calls also refuses (EPERM) to
/// open for writing, to make sockets, processes or executable memory, and everything
/// else that reading does not need. A kernel without such filters leaves it out.
void confine(pid_t parent, const base::UniqueFd& out, Bytes most_memory, bool may_use_network);

/// From here on until the next call: beyond a limit the process dies, of SIGPROF or
/// SIGALRM, or runs out of memory.
void limit_job(const JobLimits& limits);

/// The exit status of a confined process that ran out of memory.
inline constexpr int kOutOfMemory = 3;

/// Why a confined process ended, by its wait status: "it took more than 2 s of processor
/// time". `limits` are those of its last job.
[[nodiscard]] std::string cause_of_death(int status, const JobLimits& limits);

// The process that reads debug files. A damaged or malicious one can at worst
// end it: it is confined (confinement.h), and it answers over a pipe with a format
// that is checked like any input.

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
