// Accepts profiles that other programs wrote where a run is expected.
#pragma once

#include <string>
#include <vector>

#include "cli/options/input.h"

namespace geiger::cli {

/// How many of the runs are such profiles.
[[nodiscard]] std::size_t count_foreign(const std::vector<std::string>& runs);

/// Reads them, with progress on a terminal.
[[nodiscard]] Input read_foreign(const std::vector<std::string>& runs);

/// "FILE: what it is", then what its numbers rest on; a line each.
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<imports::Origin>& origins);

/// True for such input, where a verb asks what only geiger's own recordings tell; then it has
/// been said.
[[nodiscard]] bool is_refused(const Input& input, const char* verb);

}  // namespace geiger::cli
