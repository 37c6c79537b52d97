#include "analysis/export/frame_name.h"

#include <algorithm>

#include "base/utf8.h"

namespace geiger::exports {

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    out += point.is_valid ? text.substr(0, point.length) : "\xef\xbf\xbd";
    text.remove_prefix(point.length);
  }
  return out;
}

std::string line_name(std::string_view name) {
  if (name.empty()) return "?";
  const auto is_control = [](char32_t value) {
    return value < 0x20 || (value >= 0x7f && value < 0xa0);
  };
  std::string out;
  const std::string valid = to_valid_utf8(name);
  for (std::string_view rest = valid; !rest.empty();) {
    const CodePoint point = decode_utf8(rest);
    out += is_control(point.value) ? " " : rest.substr(0, point.length);
    rest.remove_prefix(point.length);
  }
  return out;
}

std::string folded_name(std::string_view name) {
  std::string out = line_name(name);
  std::ranges::replace(out, ';', ':');
  return out;
}

}  // namespace geiger::exports
