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

/// `input`, unless it is such a profile: for verbs that need geiger's own recordings.
base::Outcome<Input> only_own(base::Outcome<Input> input, const char* verb);

}  // namespace geiger::cli
