// Whole reads and writes of files.
#pragma once

#include <cstddef>
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

}  // namespace geiger::symbolize
