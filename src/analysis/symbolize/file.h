// Whole reads and writes of files, and files by their build ids.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace geiger::symbolize {

/// The rest of the file, or nothing on an error or beyond `max_bytes`.
[[nodiscard]] std::optional<std::string> read_all(const base::UniqueFd& file,
                                                  std::size_t max_bytes);

/// Writes all of `bytes`; false on an error.
[[nodiscard]] bool write_all(const base::UniqueFd& file, std::string_view bytes);

/// Paths of files by their build ids, whatever their names.
using FilesById = std::multimap<std::string, std::string>;

/// Adds the ELF files below a directory that have build ids. Follows no links; looks at a million
/// files at most.
void add_files(const std::string& directory, FilesById& files);

}  // namespace geiger::symbolize
