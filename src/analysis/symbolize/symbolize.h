// Gives the locations of a recording their names, keeps names with a trace, and tells which leaf
// frames are the allocator's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/symbolize/file.h"
#include "analysis/symbolize/symbol_set.h"

namespace geiger::foreign {
class ProcessRoot;
}

namespace geiger::symbolize {

// Which frames at the leaf of a stack belong to the runtime or the allocator, not to their caller.

/// How many frames, leaf first and with each inlined frame counted, belong to
/// the runtime, to the allocator or to operator new. `stack` must be symbolized.
/// Never all of them: a stack keeps its outermost frame.
///
/// Thin wrappers (std::allocator, xmalloc) are the program's own and stay.
[[nodiscard]] std::size_t leading_runtime_frames(const profile::Recording& recording,
                                                 const profile::Stack& stack);

/// Whether all code of a module counts as allocator: the runtime, or the
/// library that provides malloc for `process` if it does nothing else (the C
/// library and the program do, so fopen and main stay).
[[nodiscard]] bool is_allocator_module(std::string_view path, const profile::Process& process);

/// Whether a module is the C library or its loader, by the name of its file.
[[nodiscard]] bool is_c_library(std::string_view path);

// Gives the locations of a recording their names, and keeps names with a trace
// so that it reads the same where the binaries are not.

struct Options {
  /// Ask the servers in DEBUGINFOD_URLS. Off: nothing touches the network.
  bool use_debuginfod = false;
  /// Look up again what has names already; a look-up without success keeps them.
  bool refresh = false;
  std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
  FilesById kept_files = {};          ///< That stand in for modules with their build ids.
  std::string perf_map_dir = "/tmp";  ///< Where JITs leave perf-PID.map.
  /// Of the recorded processes, which may have ended: modules are looked up there first. Null: in
  /// the roots of those that still run, modules with build ids only.
  const foreign::ProcessRoot* root = nullptr;
  /// A module that yields nothing for so long is given up.
  std::chrono::milliseconds patience = std::chrono::minutes(5);
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< In locations.
  /// Once requested, nothing more is looked up: the rest is named as if there were no files.
  std::stop_token stop = {};
};

struct Outcome {
  std::size_t resolved = 0;    ///< Locations that got the name of a function.
  std::size_t unresolved = 0;  ///< Locations that got "module+0x1234".
  std::size_t modules_without_debug_info = 0;
  std::vector<std::string> hints;  ///< One line each, for the user.
  /// The hints that name a file which ended its reader (a crash or a limit); the recording's
  /// warnings contain them too.
  std::vector<std::string> faults;
};

/// Fills `frames` and the frames of every location, as far as files on this
/// machine allow; sets `is_symbolized`. The result does not depend on anything
/// but the recording and the files. Forks (see worker.h).
Outcome symbolize(profile::Recording& recording, const Options& given);

/// When the last process of a recording started, by CLOCK_REALTIME: files without a build id that
/// changed later may not be those that ran. 0 = not known.
[[nodiscard]] Nanoseconds latest_start(const profile::Recording& recording);

/// Of the file of a module, and of the debug files with its build id: what looking up its names
/// has to read at most, servers aside.
[[nodiscard]] Bytes bytes_to_read(const std::string& path, const std::string& build_id,
                                  const Options& options);

/// The names of all locations that samples of `process` (an index) use: the
/// payload of a symbols chunk. Modules are identified by path and build id, addresses
/// by ELF vaddr, so run-time addresses do not matter. Repeatable.
[[nodiscard]] std::string encode_symbols(const profile::Recording& recording,
                                         std::uint32_t process);

/// Gives names from `payload` to the locations that have none: in modules of the same identity in
/// every process, outside modules only where `process` was seen. Sets `is_symbolized` if no
/// location is left without. A payload that cannot be read changes nothing.
[[nodiscard]] base::Outcome<void> apply_symbols(std::string_view payload, std::uint32_t process,
                                                profile::Recording& recording);

}  // namespace geiger::symbolize
