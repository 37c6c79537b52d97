// Budget files: limits that live beside the code they are about.
//
//   # comment
//   max-bytes  200MiB  *                 the whole
//   max-growth 5%      parse_*           functions that match, with all they call
//   max-bytes  64KiB   * in libssl.so    of one module
//   max-bytes  1MiB    label test=*      allocations within labels that match
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/gates.h"
#include "base/outcome.h"

namespace geiger::cli {

/// The gates of a budget. `path` is for messages, which name the line: "PATH:3: ...".
[[nodiscard]] base::Outcome<std::vector<compare::GateSpec>> parse_budget(std::string_view text,
                                                                         const std::string& path);

/// Reads and parses a budget file.
[[nodiscard]] base::Outcome<std::vector<compare::GateSpec>> read_budget(const std::string& path);

}  // namespace geiger::cli
