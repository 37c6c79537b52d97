// Matches names against regular expressions, in the syntax of RE2.
//
// Expressions and names come from files that others wrote. glibc's regcomp recurses with the
// nesting of an expression, std::regex with the length of the text; RE2 does neither, and takes
// time linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/outcome.h"

namespace re2 {
class RE2;
}

namespace geiger::profile {

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
