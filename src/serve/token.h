// The token that requests must carry.
#pragma once

#include <string>

namespace geiger::serve {

/// A token that cannot be guessed: 128 random bits in hexadecimal. Empty where the system gives no
/// random numbers.
[[nodiscard]] std::string random_token();
/// Whether it can stand in a path as it is and is not too short to be guessed: 8 to 128 of
/// letters, digits, '-' and '_'.
[[nodiscard]] bool is_token(const std::string& text);

}  // namespace geiger::serve
