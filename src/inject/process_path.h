// The files of another process, by paths that this process can open.
//
// The kernel writes the paths of /proc/PID/maps as it writes the target of the link /proc/PID/root:
// from the root of the mount namespace of the process, or from our root, as far as the process is
// below it. So what follows that target is the path as the process itself names it: nothing is to
// be removed in a container that changed its root by pivot_root, a prefix after a mere chroot.
// Which file a path names here is never taken for granted: device and inode must agree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace geiger::inject {

/// A file that a process has mapped, as a line of its maps describes it.
struct MappedAs {
  std::string path;
  std::string device;  ///< "08:01", as the kernel writes it.
  std::uint64_t inode = 0;
  std::uint64_t begin = 0, end = 0;  ///< Of one of its mappings.
};

/// A path under which we can open the file, from our root if that is possible; empty if there is
/// none. The last candidate is the mapping itself (/proc/PID/map_files), which root may open also
/// where the process entered a root that does not contain the file.
[[nodiscard]] std::string path_here(pid_t pid, const MappedAs& file);

/// Whether `path` is one of the links in map_files, whose target is the file itself.
[[nodiscard]] bool is_mapping_link(std::string_view path);

/// A path of ours as the process names the same file, as far as our root's paths show it: without
/// the prefix that is its root. Unchanged if there is no such prefix.
[[nodiscard]] std::string path_inside(pid_t pid, const std::string& path);

}  // namespace geiger::inject
