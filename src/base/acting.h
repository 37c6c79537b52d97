// Characters that a terminal acts on instead of showing them. Names come from programs and files:
// text that a terminal may show contains none of these.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"

namespace geiger {

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
