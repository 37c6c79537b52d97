// Names as exports write them.
#pragma once

#include <string>
#include <string_view>

namespace geiger::exports {

/// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

/// For what is one line: control characters become spaces, invalid UTF-8 becomes U+FFFD, and an
/// empty name "?".
[[nodiscard]] std::string line_name(std::string_view name);

/// For folded stacks: a line_name() in which ';' becomes ':'.
[[nodiscard]] std::string folded_name(std::string_view name);

}  // namespace geiger::exports
