// Patterns with * and ?, as in the shell.
#pragma once

#include <string_view>

namespace geiger::profile {

/// Whether `text` matches `glob`: * stands for any characters, ? for one. Nothing else is special,
/// as names of functions are full of brackets.
[[nodiscard]] bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace geiger::profile
