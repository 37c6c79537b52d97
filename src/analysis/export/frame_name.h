// Names of frames as exports write them.
#pragma once

#include <string>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::exports {

/// "libfoo.so+0x1234" for a location without symbols, "0x7f..." outside modules.
[[nodiscard]] std::string unsymbolized_name(const profile::Recording& recording,
                                            const profile::Location& location);

/// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

/// For folded stacks: ';' becomes ':', control characters become spaces, invalid
/// UTF-8 becomes U+FFFD, and an empty name "?".
[[nodiscard]] std::string folded_name(std::string_view name);

}  // namespace geiger::exports
