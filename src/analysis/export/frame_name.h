// Names as exports write them.
#pragma once

#include <string>
#include <string_view>

namespace geiger::exports {

/// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

/// For folded stacks: ';' becomes ':', control characters become spaces, invalid
/// UTF-8 becomes U+FFFD, and an empty name "?".
[[nodiscard]] std::string folded_name(std::string_view name);

}  // namespace geiger::exports
