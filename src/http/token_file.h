// Secrets that requests carry: a file of them, one a line. Empty lines and those that begin with
// '#' are none.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"

namespace geiger::http {

/// All of them. Fails if there is none, if one is not of 16 to 512 printable characters, or if
/// all users may read or write the file.
[[nodiscard]] base::Outcome<std::vector<std::string>> read_tokens(const std::string& path);
/// The first one.
[[nodiscard]] base::Outcome<std::string> read_token(const std::string& path);

}  // namespace geiger::http
