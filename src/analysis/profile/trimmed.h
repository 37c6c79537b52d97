// Trims blanks around the lines of files written by hand: rules, suppressions, budgets.
#pragma once

#include <string_view>

namespace geiger::profile {

/// Separators of words; files from Windows end lines with a carriage return.
inline constexpr std::string_view kBlank = " \t\r";

/// `text` without the blanks around it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace geiger::profile
