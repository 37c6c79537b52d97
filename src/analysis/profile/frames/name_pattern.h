// Matches names against extended regular expressions, as `grep -E` does.
//
// Not std::regex: it recurses with the length of the text, and names come from files.
#pragma once

#include <memory>
#include <string>

#include "base/outcome.h"

namespace geiger::profile {

class NamePattern {
 public:
  static base::Outcome<NamePattern> parse(const std::string& expression);

  /// Whether any part of `name` matches.
  [[nodiscard]] bool matches(const std::string& name) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace geiger::profile
