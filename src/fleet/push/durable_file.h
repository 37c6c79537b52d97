// Files that are there whole after a crash, or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/outcome.h"

namespace geiger::fleet {

/// Writes `directory`/`name` under a temporary name, waits for the disk, and renames it: what was
/// there under the name is replaced. From the return on it survives a crash.
[[nodiscard]] base::Outcome<void> write_durably(const std::string& directory,
                                                const std::string& name, std::string_view bytes);
/// As a directory for this user alone, with those above it.
[[nodiscard]] base::Outcome<void> make_directory(const std::string& path);
/// Renames within a file system, and waits for the disk.
[[nodiscard]] base::Outcome<void> rename_durably(const std::string& from, const std::string& to);
/// Removes what a crash left of temporary files.
void remove_temporary(const std::string& directory);
/// Fails if it is larger than `most`.
[[nodiscard]] base::Outcome<std::string> read_whole(const std::string& path, std::size_t most);

}  // namespace geiger::fleet
