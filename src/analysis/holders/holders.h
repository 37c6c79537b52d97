// What keeps the live samples of a running process alive: read from outside, without stopping it.
//
// One scan of the writable memory follows pointers from the roots to the blocks of the heap. The
// program moves pointers meanwhile, so one scan may miss some, however many: it is repeated until
// two in a row reach nothing that all before them missed. The live samples are read again after
// each scan, so that none is judged that was freed meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/recording/observations.h"
#include "base/units.h"

namespace geiger::holders {

/// Registers of a thread.
struct ThreadRegisters {
  pid_t tid = 0;
  std::vector<std::uint64_t> words;
};
/// Of a process's threads, those whose registers can be read without ending what they wait for.
using ReadRegisters = std::function<std::vector<ThreadRegisters>(pid_t)>;

struct Options {
  unsigned most_scans = 16;
  Nanoseconds pause = 1'000'000'000;  ///< Between two scans.
  Nanoseconds processor =
      60'000'000'000;  ///< For all scans; what is not reached then is undecided.
  std::function<void(unsigned scans, unsigned most)> progress = {};  ///< Before each scan.
  double share = 1;                   ///< Of a processor, on average: it rests in between.
  bool is_waiting = false;            ///< One of its threads waits for the answer.
  ReadRegisters read_registers = {};  ///< Empty: registers are not read.
};

/// Of process `pid`, which writes `trace`: Observations::holders, or why they are not known. If the
/// process ends, or cannot be read any more, after the first scan, there are both, and what was not
/// reached is undecided. Samples are named by the references of their records.
[[nodiscard]] profile::Observations find_holders(pid_t pid, const std::string& trace,
                                                 const Options& options);

}  // namespace geiger::holders
