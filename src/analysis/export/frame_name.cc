#include "analysis/export/frame_name.h"

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

std::string folded_name(std::string_view name) {
  if (name.empty()) return "?";
  std::string out = to_valid_utf8(name);
  for (char& c : out) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

}  // namespace geiger::exports
