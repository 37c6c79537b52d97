// The token that requests must carry.
#pragma once

#include <string>

namespace geiger::serve {

/// A token that cannot be guessed: 128 random bits in hexadecimal. Empty where the system gives no
/// random numbers.
[[nodiscard]] std::string random_token();
/// Whether it is valid in a path without escaping and too long to be guessed: 8 to 128 of letters,
/// digits, '-' and '_'.
[[nodiscard]] bool is_token(const std::string& text);

}  // namespace geiger::serve
