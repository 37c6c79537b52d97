// Converts texts for formats that require valid UTF-8. It allocates, so code that runs in a
// target's allocator must not use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace geiger {

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

}  // namespace geiger
