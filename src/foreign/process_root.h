// The file system as another process sees it, below its root, which may be one of a container or of
// its own making: all names, links and mounts there can be its user's. Everything is done with the
// rights of that process, and nothing ends outside of its root.
//
// A process writes paths of its files as it sees them; the kernel writes those of /proc/PID/maps
// like the target of the link /proc/PID/root: from the root of the process's mount namespace, or
// from our root if the process is below it. So the path in the process is what follows that target:
// in a container that changed its root by pivot_root it is the whole path, after a mere chroot a
// prefix must be removed. A path is never trusted to name the same file here: device and inode must
// agree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace geiger::foreign {

// The rights of another process on files, and threads that have no others for a while.
//
// Root may open, create and change everything. Where another process chooses the names, the links
// and the mounts, it could make root open, create or change anything. So geiger does what involves
// such names with the rights of that process: what the kernel permits then, the process could have
// done itself.

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

/// A file that a process has mapped, from a line of its maps.
struct MappedAs {
  std::string path;
  std::string device;  ///< "08:01", as the kernel writes it.
  std::uint64_t inode = 0;
  std::uint64_t begin = 0, end = 0;  ///< Of one of its mappings.
};

/// A directory that was created for a process.
struct NewDirectory {
  base::UniqueFd directory, parent;
  std::string name;  ///< In `parent`.
};

/// Whether a directory belongs to the user, admits no other user, and is empty.
[[nodiscard]] bool is_own_and_empty(int directory, uid_t user);

/// Gives a directory that geiger has just created to another user. False, and nothing is changed,
/// unless it belongs to geiger's user, admits no other user, and is empty: another process may have
/// put a different directory in its place.
[[nodiscard]] bool give_away(int directory, uid_t user, gid_t group);

/// Stays the same root and the same rights when the process changes its own.
/// Threads: any, one at a time.
class ProcessRoot {
 public:
  /// Nothing if there is no such process, or its root may not be looked into.
  [[nodiscard]] static std::optional<ProcessRoot> open(pid_t pid);

  [[nodiscard]] const Rights& rights() const { return rights_; }
  [[nodiscard]] int fd() const { return root_.get(); }
  /// Device and inode.
  [[nodiscard]] std::pair<dev_t, ino_t> identity() const;

  /// Opens an existing path as the process would; closed, with errno, if that fails.
  [[nodiscard]] base::UniqueFd open_path(const std::string& path, int flags) const;
  /// Opens a regular file for reading, if the process may read it; else closed.
  [[nodiscard]] base::UniqueFd open_readable(const std::string& path) const;
  /// Whether the process sees at this path the same file, or directory, as we do.
  [[nodiscard]] bool sees_same(const std::string& path) const;
  /// Whether the process has /proc at /proc.
  [[nodiscard]] bool has_proc() const;
  /// Whether the process can create files in a directory of ours, to which it has all rights.
  [[nodiscard]] bool can_write_to(const std::string& directory) const;

  /// The path of the same file in the process, as far as our root's paths show it: without the
  /// prefix that is its root. Unchanged if there is no such prefix.
  [[nodiscard]] std::string path_inside(const std::string& path) const;
  /// A path by which we can open the file, from our root if possible; empty if there is none. Only
  /// for showing: what it leads to can change.
  [[nodiscard]] std::string shown_path(const MappedAs& file) const;
  /// Opens a regular file that the process has mapped, by our rights; closed if it cannot be found.
  /// Root opens the mapping itself (/proc/PID/map_files), which cannot be another file and needs no
  /// path; other users, who gain nothing by another one, open it by its path.
  [[nodiscard]] base::UniqueFd open_mapped(const MappedAs& file, int flags) const;

  /// Removes a file or (AT_REMOVEDIR) an empty directory by its path in the process, or a path of
  /// shown_path().
  void remove(const std::string& path, int flags = 0) const;
  /// Creates a directory of mode 0700, with a name that no other has, in a directory of the
  /// process.
  [[nodiscard]] std::optional<NewDirectory> make_directory(const std::string& parent) const;

 private:
  ProcessRoot() = default;
  [[nodiscard]] base::UniqueFd find_mapped(const MappedAs& file) const;

  pid_t pid_ = 0;
  base::UniqueFd root_;
  std::string root_path_;  ///< The target of the link /proc/PID/root.
  Rights rights_;
};

}  // namespace geiger::foreign
