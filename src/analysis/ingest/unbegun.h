// Traces whose process ended, or ran out of room, before it could write a header: only the name of
// the file is known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/input_file.h"

namespace geiger::ingest {

/// The process of a trace, from its name PROGRAM.PID.N.geiger.
struct NamedProcess {
  std::string program;
  pid_t pid = 0;
};

/// Nothing if the name has another form. Directories before it are not looked at.
[[nodiscard]] std::optional<NamedProcess> process_named(std::string_view path);

/// Why geiger's library was not in a process.
enum class Absence : std::uint8_t {
  kEnvironment,  ///< Its environment had no LD_PRELOAD.
  kStatic,       ///< It has no loader.
  kIgnored,      ///< Its loader ignored LD_PRELOAD: privileged, or of another architecture.
};

/// The name of an empty trace that says so: "env.17.static.geiger".
[[nodiscard]] std::string name_of_absent(std::string_view program, pid_t pid, Absence absence);

/// A process image that was never recorded.
struct Unbegun {
  std::string name;        ///< Of its trace, without directories.
  bool is_killed = false;  ///< The file was sized: there was room, so it was killed.

  /// One line: which process, why, and that nothing is known of it.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Unbegun&, const Unbegun&) = default;
};

/// Whether a file has neither a header nor a record, as its creation left it.
[[nodiscard]] bool was_never_begun(const InputFile& file);

/// As the payload of a chunk: per trace "k" (killed) or "-", its name, a 0 byte.
[[nodiscard]] std::string encode_unbegun(const std::vector<Unbegun>& all);
/// What can be read of it.
[[nodiscard]] std::vector<Unbegun> decode_unbegun(std::string_view payload);

}  // namespace geiger::ingest
