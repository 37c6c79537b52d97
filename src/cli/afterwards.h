// What happens between the program's end and geiger's.
#pragma once

#include <sys/types.h>

#include <string>

namespace geiger::cli {

/// A run whose program has ended.
struct Afterwards {
  std::string directory;  ///< Where the traces are.
  std::string file;       ///< -o's file, or empty.
  std::string shown;      ///< What the user calls the result.
  bool is_quiet = false;
  bool symbolizes = true;
  pid_t program = 0;     ///< Its process; reaped already.
  std::string obstacle;  ///< Why nothing may have been recorded, or empty.
  int refused = 0;       ///< errno of refused trace storage, 0 if none.
};

struct AfterwardsResult {
  bool has_running_processes = false;
};

/// Seals, symbolizes and packs the traces, then says on stderr what was recorded
/// (unless quiet) and what was lost (always). Never changes the exit code.
AfterwardsResult finish_run(const Afterwards& run);

}  // namespace geiger::cli
