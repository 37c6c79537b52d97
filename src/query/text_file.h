// Reads small files: limits, suppressions, rules, sources, templates.
#pragma once

#include <cstddef>
#include <string>

#include "base/outcome.h"
#include "base/unique_fd.h"

namespace geiger::query {

/// Larger files are refused: a device would never end.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;

/// The whole of a file of at most this many bytes. The reason of a failure names the file.
[[nodiscard]] base::Outcome<std::string> read_text_file(const std::string& path);
/// As above, of an open file; `path` is for the reason.
[[nodiscard]] base::Outcome<std::string> read_text(const base::UniqueFd& file,
                                                   const std::string& path);

/// Opens a file that is read without being named by the user; closed where there is none. Fails,
/// with a clause, where it may be another user's: not a regular file of the caller or root, or one
/// that others may write.
[[nodiscard]] base::Outcome<base::UniqueFd> open_own_file(const std::string& path);

}  // namespace geiger::query
