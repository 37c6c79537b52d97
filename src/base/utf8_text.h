// Texts of untrusted bytes for formats and terminals: valid UTF-8, and nothing that a terminal acts
// on. It allocates, so the runtime does not use it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace geiger {

// Converts texts for formats that require valid UTF-8. It allocates, so code that runs in a
// target's allocator must not use it.

/// Invalid UTF-8 becomes U+FFFD. The result is the first characters that fit into `most` bytes.
[[nodiscard]] inline std::string to_valid_utf8(std::string_view text,
                                               std::size_t most = std::string_view::npos) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    const auto character =
        point.is_valid ? text.substr(at, point.length) : std::string_view("\xef\xbf\xbd");
    if (character.size() > most - out.size()) break;
    out += character;
    at += point.length;
  }
  return out;
}

// Characters that a terminal acts on instead of showing them. Names come from programs and files:
// text that a terminal may show contains none of these.

namespace detail {

struct CodePoints {
  char32_t first, last;
};

/// Bidirectional marks and overrides, line separators, zero-width and the byte order mark.
inline constexpr std::array<CodePoints, 6> kInvisible{{{0x200b, 0x200f},
                                                       {0x2028, 0x202e},
                                                       {0x2060, 0x206f},
                                                       {0xfeff, 0xfeff},
                                                       {0xfff9, 0xfffb},
                                                       {0xe0000, 0xe007f}}};

}  // namespace detail

/// C0, C1 and DEL.
constexpr bool is_control(char32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0);
}

constexpr bool is_invisible(char32_t value) {
  return std::ranges::any_of(detail::kInvisible, [&](const detail::CodePoints& range) {
    return value >= range.first && value <= range.last;
  });
}

constexpr bool is_acting(char32_t value) { return is_control(value) || is_invisible(value); }

/// Whether `text`, which may be any bytes, has such a character.
constexpr bool has_acting(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (point.is_valid && is_acting(point.value)) return true;
    text.remove_prefix(point.length);
  }
  return false;
}

}  // namespace geiger
