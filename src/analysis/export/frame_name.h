// Names of frames as exports write them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/style.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// For what is one line: control characters become spaces, invalid UTF-8 becomes U+FFFD, and an
/// empty name "?".
[[nodiscard]] std::string line_name(std::string_view name);

/// For folded stacks: a line_name() in which ';' becomes ':'.
[[nodiscard]] std::string folded_name(std::string_view name);

/// Short names for `functions`, whose names all differ; the short ones differ as well. With full
/// names they are unchanged.
[[nodiscard]] std::vector<std::string> names_for_people(const profile::Recording& recording,
                                                        std::span<const std::string> functions,
                                                        present::Names names);

}  // namespace geiger::exports
