#include "analysis/export/frame_name.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "analysis/naming/display_name.h"
#include "base/utf8_text.h"

namespace geiger::exports {

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

std::vector<std::string> names_for_people(const profile::Recording& recording,
                                          std::span<const std::string> functions,
                                          present::Names names) {
  if (names == present::Names::kFull) return {functions.begin(), functions.end()};
  // Where a lambda is, whichever of its lines comes first.
  std::unordered_map<std::string_view, std::uint32_t> lines;
  for (const profile::Frame& frame : recording.frames) {
    const auto [at, is_new] = lines.try_emplace(frame.function, frame.line);
    if (!is_new) at->second = std::min(at->second, frame.line);
  }
  std::vector<naming::Named> named;
  named.reserve(functions.size());
  for (const std::string& function : functions) {
    const auto line = lines.find(function);
    named.push_back({.demangled = function, .line = line == lines.end() ? 0 : line->second});
  }
  return naming::distinct_names(named);
}

}  // namespace geiger::exports
