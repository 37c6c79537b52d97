// Texts taken apart from their front.
#pragma once

#include <algorithm>
#include <string_view>

namespace geiger::base {

/// Takes the first line, or the part before another `divider`, off the front of a text, and the
/// divider with it.
constexpr std::string_view take_part(std::string_view& text, char divider = '\n') {
  const std::string_view part = text.substr(0, text.find(divider));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace geiger::base
