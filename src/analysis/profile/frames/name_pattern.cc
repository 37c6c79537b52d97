#include "analysis/profile/frames/name_pattern.h"

#include <regex.h>

#include <array>
#include <utility>

namespace geiger::profile {

struct NamePattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (is_compiled) regfree(&expression);
  }

  regex_t expression{};
  bool is_compiled = false;
};

base::Outcome<NamePattern> NamePattern::parse(const std::string& expression) {
  if (expression.empty()) return base::Failure{"it is empty and would match everything"};
  auto compiled = std::make_shared<Compiled>();
  const int error = regcomp(&compiled->expression, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 160> text{};
    regerror(error, &compiled->expression, text.data(), text.size());
    return base::Failure{text.data()};
  }
  compiled->is_compiled = true;
  NamePattern pattern;
  pattern.text_ = expression;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool NamePattern::matches(const std::string& name) const {
  return regexec(&compiled_->expression, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace geiger::profile
