// The runtime's settings from the environment (docs/guide/runtime-settings.md).
//
//   GEIGER_DIR=PATH          where traces go; absent: the runtime sleeps until it is called,
//                            or records in memory on request of a program with libgeiger.so
//   GEIGER_INTERVAL=BYTES    sampling interval T >= 1 (default 524288), or
//   GEIGER_INTERVAL=auto[:N] as fine as N millionths of processor time allow (default 10000:
//                            1 %), from 8 KiB on (governor.h)
//   GEIGER_SEED=NUMBER       process seed (default: getrandom)
//   GEIGER_CAPACITY=BYTES    most bytes of one trace (default 4 GiB; 256 MiB in memory)
//   GEIGER_SEGMENT=BYTES     continue in a new trace after so many bytes (default 0: never)
//   GEIGER_KEEP=NUMBER       traces of a process to keep; older ones are removed (default 0:
//                            all; at most 64)
//   GEIGER_LIVE=NUMBER       most live samples to track; when exceeded, half of them are given
//                            up (default 4194304)
//   GEIGER_FRAMES=NUMBER     most frames of a stack to follow (default 255, and 1023 with an
//                            interpreter's; at most 262144)
//   GEIGER_GUARD=N[,exact]   guard one in N samples (default 0: none), to the byte
//   GEIGER_BROKER=DIGITS     the supervisor that creates traces which the process cannot
//                            (trace/rendezvous.h)
//   GEIGER_MODE=WORD,...     pure, fp, nochildren, paused, freestacks, nomappings,
//                            aggregate, dormant, off, root=PID, scanner=PID
#pragma once

#include <cstdint>

#include "base/units.h"
#include "vocabulary/vocabulary.h"

namespace geiger::capture {

/// Largest GEIGER_KEEP.
inline constexpr std::uint64_t kMostKept = 64;

/// With a smaller cap, results would be noise.
inline constexpr std::uint64_t kLeastLive = 1024;

struct Settings {
  const char* directory = nullptr;  ///< Null: in memory, dormant or off.
  bool in_memory = false;
  bool is_dormant = false;                  ///< Sleeps until a controller requests a recording.
  const char* runtime_directory = nullptr;  ///< XDG_RUNTIME_DIR.
  const char* broker = nullptr;             ///< Of `directory`; null: none.
  Bytes interval = 512 * kKiB;
  std::uint64_t share = 0;  ///< Of processor time, for the governor (governor.h); 0: fixed.
  Bytes capacity = 4 * kGiB;
  Bytes segment = 0;                                ///< 0: never continues in another trace.
  std::uint64_t keep = 0;                           ///< 0: all.
  std::uint64_t live = 4194304;                     ///< Cap of live samples, at least kLeastLive.
  std::uint64_t frames = vocabulary::kUsualFrames;  ///< To follow of a stack, at least so many.
  std::uint32_t guard = 0;                          ///< As FileHeader::guard_setting.
  bool aggregates = false;
  std::uint64_t seed = 0;
  std::uint64_t root_pid = 0;  ///< The first process of the run, 0 = not given.
  /// The process that scans this one's memory at its exit; 0: none.
  std::uint64_t scanner_pid = 0;
  bool has_seed = false;
  bool is_pure = false;
  bool use_frame_pointers = false;
  bool follow_children = true;
  bool starts_paused = false;
  bool free_stacks = false;
  bool records_mappings = true;
  /// Parts of CPython to record: small objects and frames, only frames, or neither.
  enum class Python : std::uint8_t { kAll, kStacks, kOff };
  Python python = Python::kAll;
};

/// The process's arguments as the kernel laid them out, ending with a null. Null if not known.
[[nodiscard]] char** initial_arguments();

/// A variable of the environment that the process was started with, or null. Unlike getenv() it
/// cannot race with a setenv() of the program.
[[nodiscard]] const char* initial_value(const char* name);

/// Reads the environment the process was started with. An invalid value turns the runtime off:
/// guessing would give wrong numbers.
[[nodiscard]] Settings read_settings();

/// Reads the settings from lines NAME=VALUE, for an image that begins by attaching; keeps a copy of
/// at most 4 KiB. False: longer, invalid value, or no GEIGER_DIR.
[[nodiscard]] bool read_settings_from(const char* lines, Settings& settings);

/// The bits of FileHeader::mode that depend on settings.
[[nodiscard]] std::uint32_t mode_of(const Settings& settings);

}  // namespace geiger::capture
