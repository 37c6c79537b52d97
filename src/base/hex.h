// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace geiger::base {

/// Two lower-case digits for each of `bytes`.
template <typename Bytes>
[[nodiscard]] std::string hex_of(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

}  // namespace geiger::base
