// The lines of files written by hand: rules, suppressions, budgets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/parts.h"

namespace geiger::profile {

/// Separators of words; files from Windows end lines with a carriage return.
inline constexpr std::string_view kBlank = " \t\r";

/// `text` without the blanks around it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Longer lines are refused.
inline constexpr std::size_t kMostLineBytes = std::size_t{16} << 10;

/// `text` as messages quote it: of a long one its beginning.
[[nodiscard]] inline std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out = "'";
  out += text.substr(0, kMost);
  return out + (text.size() > kMost ? "...'" : "'");
}

/// Calls take(line, number) for each line without the blanks around it, except empty ones and
/// comments, which begin with #, until one fails or is longer than kMostLineBytes: "3: " is put
/// before the reason.
template <typename Take>
base::Outcome<void> read_lines(std::string_view text, const Take& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(base::take_part(text));
    if (line.empty() || line.front() == '#') continue;
    base::Outcome<void> taken =
        line.size() > kMostLineBytes
            ? base::Failure{quoted(line) + ": the line has " + std::to_string(line.size()) +
                            " bytes (at most " + std::to_string(kMostLineBytes) + ")"}
            : take(line, number);
    GEIGER_TRY(std::move(taken).with_prefix(std::to_string(number) + ": "));
  }
  return {};
}

}  // namespace geiger::profile
