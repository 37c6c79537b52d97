// How a verb ends: with an exit code, or with the reason why it could not be done.
#pragma once

#include <functional>
#include <string>

#include "base/outcome.h"

namespace geiger::cli {

/// What a verb does when the command line is parsed: its exit code, or why it could not be done.
/// What it has already reported itself, on either stream, is an exit code.
using Work = std::function<base::Outcome<int>()>;

/// A failure that points to the verb's help.
[[nodiscard]] base::Failure usage_failure(std::string reason);

/// Prints why something could not be done. `help` is the command whose --help explains it. Returns
/// the exit code.
[[nodiscard]] int end_with(const base::Failure& failure, const std::string& help);

}  // namespace geiger::cli
