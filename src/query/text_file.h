// Reads small files: limits, suppressions, sources, templates.
#pragma once

#include <cstddef>
#include <string>

#include "base/outcome.h"

namespace geiger::query {

/// More is not written by hand, and a device would never end.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;

/// The whole of a file of at most so many bytes. The reason of a failure names the file.
[[nodiscard]] base::Outcome<std::string> read_text_file(const std::string& path);

}  // namespace geiger::query
