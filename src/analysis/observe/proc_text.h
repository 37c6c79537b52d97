// Parsers for files of /proc/PID. Names in them are chosen by other users, so every line that does
// not read as expected is skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/memory/observations.h"
#include "base/units.h"

namespace geiger::observe {

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
  std::string device;  ///< "08:01".
  std::uint64_t inode = 0;
  std::string path;  ///< As the kernel writes it; empty for anonymous ones.
  Bytes resident = 0, swapped = 0;

  [[nodiscard]] bool holds(Address address) const { return start <= address && address < end; }
};

/// In order of addresses; what overlaps the mapping before is left out.
[[nodiscard]] std::vector<Mapping> parse_smaps(std::string_view text);

/// The stack pointer of /proc/PID/task/TID/syscall; nothing of a running thread.
[[nodiscard]] std::optional<Address> parse_stack_pointer(std::string_view text);

}  // namespace geiger::observe
