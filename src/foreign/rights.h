// The rights of another process on files, and threads that have no others for a while.
//
// Root may open, create and change everything. Where another process chooses the names, the links
// and the mounts, it could make root open, create or change anything. So geiger does what involves
// such names with the rights of that process: what the kernel permits then, the process could have
// done itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace geiger::foreign {

/// What the kernel looks at when a process opens a file, except security modules' labels.
struct Rights {
  uid_t user = 0;   ///< For access to files; usually the effective one.
  gid_t group = 0;  ///< For access to files; usually the effective one.
  std::vector<gid_t> groups;
  std::uint64_t capabilities = 0;  ///< Effective ones, as bits; those of its user namespace.
};

/// From the text of /proc/PID/status; nothing if it is malformed.
[[nodiscard]] std::optional<Rights> parse_rights(std::string_view status);

/// While it exists, the thread's access to files is checked by these rights. Has an effect only if
/// geiger is root; any other user's rights are those of its own processes already.
///
/// Signals may not be sent, nor processes traced, by the process whose rights they are: real and
/// saved user ids stay. Paths below /proc/self do not work meanwhile, nor do those below /proc/PID
/// of other users' processes: open these first.
/// Threads: only the one that creates it, which must also destroy it; they nest.
class ActingWith {
 public:
  explicit ActingWith(const Rights& rights);
  ActingWith(const ActingWith&) = delete;
  ActingWith& operator=(const ActingWith&) = delete;
  ~ActingWith();

  /// False: the kernel refused, and nothing may be done for the process.
  [[nodiscard]] bool is_in_force() const { return is_in_force_; }

 private:
  /// Whether all of them could be set.
  static bool set(const Rights& rights);

  std::optional<Rights> before_;  ///< Nothing: not changed.
  bool is_in_force_ = true;
};

}  // namespace geiger::foreign
