// The files of /proc: of exactly one process, their text parsed, and the kernel's count of kills
// for lack of memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/observations.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::observe {

// Parsers for files of /proc/PID. Names in them are chosen by other users, so every line that does
// not read as expected is skipped.

/// How far the kernel restricts the system calls of a process.
struct Confinement {
  std::uint64_t mode = 0;  ///< Of seccomp: 0 none, 1 strict, 2 filters.
  std::uint64_t filters = 0;
  bool operator==(const Confinement&) const = default;
};

/// The memory counters of /proc/PID/status.
struct Status {
  profile::MemoryCounts counts;
  Confinement confinement;
  Bytes high_water = 0;  ///< VmHWM.
};

/// Nothing where the process has no memory any more (a zombie) or the text is another.
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);

/// A mapping of /proc/PID/smaps.
struct Mapping {
  Address start = 0, end = 0;
  bool is_readable = false, is_writable = false, is_shared = false;
  Bytes offset = 0;    ///< In its file.
  std::string device;  ///< "08:01".
  std::uint64_t inode = 0;
  std::string path;  ///< As the kernel writes it; empty for anonymous ones.
  Bytes resident = 0, swapped = 0;

  [[nodiscard]] bool holds(Address address) const { return start <= address && address < end; }
};

/// In order of addresses; what overlaps the mapping before is left out.
[[nodiscard]] std::vector<Mapping> parse_smaps(std::string_view text);

/// Where a thread waits.
struct WaitingPlace {
  Address stack_pointer = 0, program_counter = 0;
  bool operator==(const WaitingPlace&) const = default;
};

/// Of /proc/PID/task/TID/syscall; nothing of a running thread.
[[nodiscard]] std::optional<WaitingPlace> parse_waiting_place(std::string_view text);

/// How often the thread of /proc/PID/task/TID/status has given up its processor, or lost it.
[[nodiscard]] std::optional<std::uint64_t> parse_switches(std::string_view text);

// The files of /proc/PID of exactly one process: a process id may soon belong to another process,
// the opened directory does not.
//
// Only reads, and only what the kernel answers from its own books: nothing here stops,
// signals or traces the process.

class ProcessFiles {
 public:
  explicit ProcessFiles(pid_t pid);

  [[nodiscard]] bool is_open() const { return directory_.is_open(); }
  /// Opens a file below /proc/PID; closed if that is refused, with errno set.
  [[nodiscard]] base::UniqueFd open(const char* name) const;
  /// All of a file, at most 64 MiB; nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(const char* name) const;
  /// Where a link of /proc/PID points to; empty if it cannot be read.
  [[nodiscard]] std::string link(const char* name) const;
  /// Nothing if it has no memory any more.
  [[nodiscard]] std::optional<Status> status() const;
  /// The stack pointers of its threads, of the first thousand that could be read.
  [[nodiscard]] std::vector<Address> stack_pointers() const;

 private:
  base::UniqueFd directory_;
};

// Whether the kernel had to kill processes because memory ran out.

/// Processes that the kernel has killed for lack of memory since it started, of limits of groups
/// too; 0 where /proc/vmstat does not say.
[[nodiscard]] std::uint64_t oom_kills();

}  // namespace geiger::observe
