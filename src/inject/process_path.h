// The files of another process, by paths that this process can open.
//
// The kernel writes the paths of /proc/PID/maps like the target of the link /proc/PID/root: from
// the root of the process's mount namespace, or from our root if the process is below it. So the
// path in the process is what follows that target: in a container that changed its root by
// pivot_root it is the whole path, after a mere chroot a prefix must be removed. A path is never
// trusted to name the same file here: device and inode must agree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace geiger::inject {

/// A file that a process has mapped, from a line of its maps.
struct MappedAs {
  std::string path;
  std::string device;  ///< "08:01", as the kernel writes it.
  std::uint64_t inode = 0;
  std::uint64_t begin = 0, end = 0;  ///< Of one of its mappings.
};

/// A path by which we can open the file, from our root if possible; empty if there is none. The
/// last candidate is the mapping itself (/proc/PID/map_files), which root may open even if the
/// process entered a root that does not contain the file.
[[nodiscard]] std::string path_here(pid_t pid, const MappedAs& file);

/// Whether the process has the same file, or directory, at this path.
[[nodiscard]] bool sees_same(pid_t pid, const std::string& path);

/// Whether `path` is one of the links in map_files, whose target is the file itself.
[[nodiscard]] bool is_mapping_link(std::string_view path);

/// The path of the same file in the process, as far as our root's paths show it: without the prefix
/// that is its root. Unchanged if there is no such prefix.
[[nodiscard]] std::string path_inside(pid_t pid, const std::string& path);

}  // namespace geiger::inject
