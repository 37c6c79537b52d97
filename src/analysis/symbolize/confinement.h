// What a process that reads hostile files is allowed: to open files for reading, to
// use memory and time up to a limit, and to write to one pipe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "analysis/symbolize/file.h"
#include "base/units.h"

namespace geiger::symbolize {

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

}  // namespace geiger::symbolize
