// The environment that the program and its children see.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::run {

// The path of the runtime library, in a form that LD_PRELOAD can hold.

/// The word to put into LD_PRELOAD. It contains the loader's token `$LIB`, which
/// 64-bit and 32-bit glibc read differently: the first finds the runtime, the
/// second an empty library. musl knows no tokens: for it there is a link of this name.
class PreloadPath {
 public:
  /// Finds the libraries beside this executable (../lib/geiger). LD_PRELOAD is
  /// split at spaces and colons: where the path has one, a private directory
  /// with a symbolic link stands in for it.
  [[nodiscard]] static base::Outcome<PreloadPath> locate();

  /// The file itself, for callers that load it without LD_PRELOAD.
  [[nodiscard]] static base::Outcome<std::string> library();

  /// Where geiger's own allocator is, or would be.
  [[nodiscard]] static std::string allocator();

  /// Adds the library that sends events to LTTng. False: geiger was built without it.
  [[nodiscard]] bool add_lttng();

  PreloadPath(PreloadPath&& other) noexcept;
  PreloadPath(const PreloadPath&) = delete;
  PreloadPath& operator=(const PreloadPath&) = delete;
  PreloadPath& operator=(PreloadPath&&) = delete;
  /// Removes the stand-in.
  ~PreloadPath();

  [[nodiscard]] const std::string& word() const { return word_; }
  /// Leaves the stand-in: processes that may still start others need it.
  void keep() { stand_in_.clear(); }

 private:
  PreloadPath(const std::string& root, std::string stand_in);
  std::string root_;  // what the loader finds the libraries under
  std::string word_;
  std::string stand_in_;  // directory to remove, or empty
};

/// The settings of the runtime, which it reads from GEIGER_* variables.
struct RuntimeSettings {
  Bytes interval = 512 * kKiB;  ///< Sampling interval, >= 1.
  /// Share of processor time that the self-regulating interval may cost; 0: the interval is fixed.
  double share = 0;
  Bytes capacity = 4 * kGiB;  ///< Bytes a trace may grow to.
  Bytes segment = 0;          ///< Bytes after which a trace goes on in another; 0: never.
  std::uint64_t keep = 0;     ///< Traces to keep of a process; 0: all.
  std::uint64_t live = 0;     ///< Live samples to keep track of; 0: the runtime's default.
  std::uint64_t frames = 0;   ///< Of a stack to follow; 0: the runtime's default.
  std::uint32_t guard = 0;    ///< As trace::FileHeader::guard_setting.
  bool aggregates = false;    ///< Counts samples that are alike.
  std::string broker;         ///< Digits of a TraceBroker; empty: no broker.
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
  pid_t scanner = 0;  ///< Scans the memory of processes at their exit; 0: none.
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

// Asks virtual machines for the names of the functions that they compile: they write perf maps,
// which the names of a recording are looked up in.

/// Adds options to NODE_OPTIONS: node writes a map, and keeps a frame of its own for each function
/// that it interprets. False if a map was requested already, there or in the program's words: it is
/// the user's then.
bool ask_node(Environment& environment, const std::vector<std::string>& program);

/// Adds the JVM's options after the program's name, because each variable that it reads options
/// from makes it print a line. Fails if the program is not called java; false if a map was
/// requested for already.
[[nodiscard]] base::Outcome<bool> ask_java(std::vector<std::string>& program);

}  // namespace geiger::run
