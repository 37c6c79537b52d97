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

/// The names of `functions`, which differ, for readers who are people: short, and different as
/// well. With full names they are as they were.
[[nodiscard]] std::vector<std::string> names_for_people(const profile::Recording& recording,
                                                        std::span<const std::string> functions,
                                                        present::Names names);

}  // namespace geiger::exports
