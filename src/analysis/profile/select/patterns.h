// What people write in files of rules: lines, patterns with * and ?, regular expressions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/text.h"

namespace re2 {
class RE2;
}

namespace geiger::profile {

// The lines of files written by hand: rules, suppressions, budgets.

/// Separators of words; files from Windows end lines with a carriage return.
inline constexpr std::string_view kBlank = " \t\r";

/// `text` without the blanks around it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
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

// Patterns with * and ?, as in the shell.

/// Whether `text` matches `glob`: * stands for any characters, ? for one. Nothing else is special,
/// as names of functions are full of brackets.
[[nodiscard]] bool matches_glob(std::string_view glob, std::string_view text);

// Matches names against regular expressions, in the syntax of RE2.
//
// Expressions and names come from files that others wrote. glibc's regcomp recurses with the
// nesting of an expression, std::regex with the length of the text; RE2 does neither, and takes
// time linear in the text.

class NamePattern {
 public:
  /// The reason of a failure quotes the expression.
  static base::Outcome<NamePattern> parse(const std::string& expression);

  /// Whether any part of `name` matches.
  [[nodiscard]] bool matches(std::string_view name) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace geiger::profile
