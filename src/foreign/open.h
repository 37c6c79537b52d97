// Opens files whose names another process may choose, or change at any moment.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace geiger::foreign {

/// What happens to symbolic links on a path. Links of /proc that the kernel makes up are never
/// followed.
enum class Links {
  kBelow,  ///< They are followed, and end below the directory, as do absolute ones and `..`.
  kNone,   ///< A link is an error (ELOOP).
};

/// Opens a path below a directory; a leading slash is the directory itself. Closed, with errno, if
/// that fails. Kernels before 5.6 follow no links, and refuse `..`.
[[nodiscard]] base::UniqueFd open_below(int directory, const std::string& path, int flags,
                                        Links links);

/// Opens or creates an entry of a directory: not a link, nor what is mounted over it. Does not
/// block on a FIFO. `name` has no slash.
[[nodiscard]] base::UniqueFd open_entry(int directory, const std::string& name, int flags,
                                        mode_t mode = 0);

/// Opens a regular file; closed, with errno, on failure. Other files are not opened at all: for a
/// device that can have consequences.
[[nodiscard]] base::UniqueFd open_regular(const std::string& path, int flags);

/// Opens the file of an O_PATH descriptor for good; closed, with errno, unless it is a regular
/// file.
[[nodiscard]] base::UniqueFd reopen_regular(const base::UniqueFd& found, int flags);

}  // namespace geiger::foreign
