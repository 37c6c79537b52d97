// Divides the words of `geiger run` into geiger's own and the program's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"

namespace geiger::cli {

/// The words after `run`, divided.
struct CommandLine {
  std::vector<std::string> options;  ///< geiger's own, values included.
  std::vector<std::string> program;  ///< The program and its arguments, verbatim.
};

/// Whether an option ("-o" or "--output") takes a value; nothing if unknown.
using TakesValue = std::function<std::optional<bool>(std::string_view)>;

/// Divides at the first word that is neither an option nor an option's value, or
/// at "--", which belongs to neither side. Accepts --name=value, -oVALUE and
/// clusters of short flags. Fails on an unknown option, so that a mistyped one is
/// never taken for the program.
base::Outcome<CommandLine> divide(const std::vector<std::string>& words,
                                  const TakesValue& takes_value);

}  // namespace geiger::cli
