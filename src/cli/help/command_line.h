// Words on a command line that are not for the parser: of `geiger run`, the program's; of verbs
// with two sides, the divider.
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

/// Replaces "--" between two sides: a control character, which no shell completes to.
inline constexpr char kDivider[] = "\x1d";

/// The parser takes "--" for the end of the options; between two sides it divides them, and options
/// may follow it. Replaces it by kDivider, which the parser leaves alone.
void shield_divider(std::vector<std::string>& words);

}  // namespace geiger::cli
