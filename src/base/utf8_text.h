// Converts texts for formats that require valid UTF-8. It allocates, so code that runs in a
// target's allocator must not use it.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace geiger {

/// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    out += point.is_valid ? text.substr(at, point.length) : "\xef\xbf\xbd";
    at += point.length;
  }
  return out;
}

}  // namespace geiger
