// What the environment asks of the runtime (docs/runtime-settings.md).
//
//   GEIGER_DIR=PATH          where traces go; absent: the runtime stays inert, or records
//                            in memory at the program's demand if that has libgeiger.so
//   GEIGER_INTERVAL=BYTES    sampling interval T >= 1 (default 524288)
//   GEIGER_SEED=NUMBER       process seed (default: getrandom)
//   GEIGER_CAPACITY=BYTES    most bytes of one trace (default 4 GiB; 256 MiB in memory)
//   GEIGER_MODE=WORD,...     pure, fp, nochildren, paused, freestacks, nomappings, root=PID
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::capture {

struct Settings {
  const char* directory = nullptr;  ///< Null: inert, or in memory.
  bool in_memory = false;
  Bytes interval = 512 * kKiB;
  Bytes capacity = 4 * kGiB;
  std::uint64_t seed = 0;
  std::uint64_t root_pid = 0;  ///< The first process of the run, 0 = not said.
  bool has_seed = false;
  bool is_pure = false;
  bool use_frame_pointers = false;
  bool follow_children = true;
  bool starts_paused = false;
  bool free_stacks = false;
  bool records_mappings = true;
};

/// Reads the environment the process was started with. A value that cannot be
/// read makes the runtime inert: guessing would give wrong numbers.
[[nodiscard]] Settings read_settings();

}  // namespace geiger::capture
