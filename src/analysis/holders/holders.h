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
#include <optional>
#include <string>
#include <vector>

#include "analysis/holders/core_file.h"
#include "analysis/holders/module_files.h"
#include "analysis/holders/subject.h"
#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/profile/recording/observations.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::holders {

struct Options {
  unsigned most_scans = 32;
  Nanoseconds pause = 1'000'000'000;  ///< Between two scans.
  Nanoseconds processor =
      60'000'000'000;  ///< For all scans; what is not reached then is undecided.
  std::function<void(unsigned scans, unsigned most)> progress = {};  ///< Before each scan.
  double share = 1;                   ///< Of a processor, on average: it rests in between.
  bool is_waiting = false;            ///< One of its threads waits for the answer.
  ReadRegisters read_registers = {};  ///< Empty: registers are not read.
  CopyProcess copy = {};              ///< Scans copies that it makes, not the process itself.
};

/// Of process `pid`, which writes `trace`: Observations::holders, or why they are not known. If the
/// process ends, or cannot be read any more, after the first scan, there are both, and what was not
/// reached is undecided. Samples are named by the references of their records.
[[nodiscard]] profile::Observations find_holders(pid_t pid, const std::string& trace,
                                                 const Options& options);

/// Like the function above, for any subject. `rest` is called between two scans.
[[nodiscard]] profile::Observations find_holders(Subject& subject, ModuleFiles& modules,
                                                 const Options& options,
                                                 const std::function<void()>& rest);

/// Like the function above, for a core file, at the instant when it was written. `image`, in
/// `trace`, is what the process recorded. Nothing if the core file is another process's, or older
/// than the image.
[[nodiscard]] std::optional<profile::Observations> find_holders(const CoreFile& core,
                                                                const ingest::InputFile& trace,
                                                                const ingest::Image& image,
                                                                const Options& options);

/// All blocks in use of a heap.
struct BlockCensus {
  std::vector<profile::HeldBlocks> parts;  ///< The largest first.
  Bytes unread = 0, not_understood = 0;
  bool has_runtime = false;  ///< geiger recorded the process: its tables count as roots.
};

/// Of a core file alone: by root and size, all blocks that are in use. Fails where blocks cannot be
/// told without samples.
[[nodiscard]] base::Outcome<BlockCensus> count_held(const CoreFile& core, const Options& options);

}  // namespace geiger::holders
