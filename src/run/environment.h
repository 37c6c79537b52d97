// The environment that the program and its children see.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::run {

/// The settings of the runtime, which it reads from GEIGER_* variables.
struct RuntimeSettings {
  Bytes interval = 512 * kKiB;  ///< Sampling interval, >= 1.
  /// Share of processor time that the self-regulating interval may cost; 0: the interval is fixed.
  double share = 0;
  Bytes capacity = 4 * kGiB;     ///< Bytes a trace may grow to.
  Bytes segment = 0;             ///< Bytes after which a trace goes on in another; 0: never.
  std::uint64_t keep = 0;        ///< Traces to keep of a process; 0: all.
  std::uint64_t live = 0;        ///< Live samples to keep track of; 0: the runtime's default.
  std::uint64_t frames = 0;      ///< Of a stack to follow; 0: the runtime's default.
  std::uint64_t guard_rate = 0;  ///< One in this many samples is guarded; 0: none.
  bool aggregates = false;       ///< Counts samples that are alike.
  std::string broker;            ///< Digits of a TraceBroker; empty: no broker.
  std::optional<std::uint64_t> seed;
  bool is_pure = false;
  bool uses_frame_pointers = false;
  /// What is recorded of CPython: small objects and frames, only those, or neither.
  enum class Python : std::uint8_t { kAll, kStacks, kOff };
  Python python = Python::kAll;
  bool follows_children = true;
  bool starts_paused = false;
  bool is_dormant = false;
  bool records_free_stacks = false;
  bool records_mappings = true;
};

/// Words "NAME=value".
using Environment = std::vector<std::string>;

/// with_preload(), plus GEIGER_* for the run of process `program`. Variables of an enclosing
/// `geiger run` are replaced, also those that are not set anew.
[[nodiscard]] Environment with_runtime(Environment inherited, const RuntimeSettings& settings,
                                       const std::string& preload, const std::string& directory,
                                       int program);

/// With `preload` first in LD_PRELOAD; the other entries keep their order.
[[nodiscard]] Environment with_preload(Environment inherited, const std::string& preload);

/// The word that names the run directory: all processes of a run inherit it.
[[nodiscard]] std::string directory_word(const std::string& directory);

/// The GEIGER_* words alone, as attaching passes them.
[[nodiscard]] Environment runtime_words(const RuntimeSettings& settings,
                                        const std::string& directory, int program);

/// `inherited` without the variables that the runtime reads.
[[nodiscard]] Environment without_runtime(Environment inherited);

/// A copy of this process's environment.
[[nodiscard]] Environment own_environment();

}  // namespace geiger::run
