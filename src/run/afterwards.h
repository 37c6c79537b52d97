// What happens between the program's end and geiger's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/observe/observer.h"
#include "base/units.h"
#include "control/trace_feeder.h"
#include "run/memory_scans.h"

namespace geiger::foreign {
class ProcessRoot;
}

namespace geiger::run {

/// A run whose program has ended.
struct Afterwards {
  std::string directory;  ///< Where the traces are.
  std::string file;       ///< -o's file, or empty.
  std::string shown;      ///< What the user calls the result.
  bool replaces = false;  ///< -f.
  bool is_quiet = false;
  bool symbolizes = true;
  const foreign::ProcessRoot* root = nullptr;  ///< symbolize::Options::root.
  bool follows_children = true;  ///< Processes that go on after the program are to be recorded.
  bool removes_maps = false;     ///< Perf maps, which were written at geiger's request.
  pid_t program = 0;             ///< Its process; reaped already.
  Nanoseconds ran_for = 0;       ///< The program, at least.
  std::uint32_t end_signal = 0;  ///< Supervisor::end_signal().
  std::string obstacle;          ///< Why nothing may have been recorded, or empty.
  bool is_explained = false;     ///< That was said before the program started.
  control::WatchLosses losses;
  std::vector<std::string> unrecorded;    ///< UnrecordedWatch::found().
  observe::Observer* observer = nullptr;  ///< What was read about the processes, if anything.
                                          /// What is known of their memory by scans.
  std::vector<MemoryScans*> scans = {};
};

struct AfterwardsResult {
  bool has_running_processes = false;  ///< Some go on: they write traces, or may yet.
};

/// Seals, symbolizes and packs the traces, then says on stderr what was recorded
/// (unless quiet) and what was lost (always). Never throws, and works in a child: the program's
/// exit code is passed on whatever happens here. If that child is killed, by a lack of memory for
/// instance, another one seals and packs only, and says so.
AfterwardsResult finish_run(const Afterwards& run) noexcept;

}  // namespace geiger::run
