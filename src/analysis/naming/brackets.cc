#include "analysis/naming/brackets.h"

#include <array>

namespace geiger::naming {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::uint32_t kUnpaired = 0xffffffff;

/// The longer ones first.
constexpr std::array<std::string_view, 41> kSymbols{
    "\"\"", "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
    "&&",   "||", "++", "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "<",  ">",
    "+",    "-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  ",",  "?"};

char opener_of(char closer) {
  switch (closer) {
    case ')':
      return '(';
    case '>':
      return '<';
    case ']':
      return '[';
    case '}':
      return '{';
    default:
      return '\0';
  }
}

/// Brackets that are still open. A `)`, `]` or `}` closes its own kind and gives up the others
/// in between, which were operators; a `>` is a bracket only where a `<` was the last one.
class Open {
 public:
  void push(char opener, std::uint32_t at) {
    stack_.push_back({opener, at});
    ++counts_[static_cast<unsigned char>(opener)];
  }

  /// Where the bracket that `closer` closes was opened; kUnpaired: nowhere.
  std::uint32_t close(char closer) {
    const char opener = opener_of(closer);
    if (counts_[static_cast<unsigned char>(opener)] == 0) return kUnpaired;
    if (opener == '<' && stack_.back().opener != '<') return kUnpaired;
    while (stack_.back().opener != opener) pop();
    const std::uint32_t at = stack_.back().at;
    pop();
    return at;
  }

 private:
  struct Bracket {
    char opener;
    std::uint32_t at;
  };

  void pop() {
    --counts_[static_cast<unsigned char>(stack_.back().opener)];
    stack_.pop_back();
  }

  std::vector<Bracket> stack_;
  std::array<std::uint32_t, 128> counts_{};
};

bool is_operator_at(std::string_view text, std::size_t i) {
  if (!text.substr(i).starts_with(kOperator)) return false;
  if (i > 0 && is_identifier(text[i - 1])) return false;
  const std::size_t end = i + kOperator.size();
  return end < text.size() && !is_identifier(text[end]);
}

}  // namespace

bool is_identifier(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || byte >= 0x80;
}

Brackets::Brackets(std::string_view text) : text_(text) {
  if (text.find_first_of("(<[{") == std::string_view::npos) return;
  closing_.assign(text.size(), kUnpaired);
  Open open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'o' && is_operator_at(text, i)) {
      i = after_operator(text, i + kOperator.size()) - 1;
      continue;
    }
    const char c = text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') {
      open.push(c, static_cast<std::uint32_t>(i));
    } else if (opener_of(c) != '\0') {
      const bool is_arrow = c == '>' && i > 0 && text[i - 1] == '-';
      const std::uint32_t opened = is_arrow ? kUnpaired : open.close(c);
      if (opened != kUnpaired) closing_[opened] = static_cast<std::uint32_t>(i);
    }
  }
}

std::size_t Brackets::closing(std::size_t i, std::size_t end) const {
  if (i >= closing_.size() || closing_[i] == kUnpaired || closing_[i] >= end) return kNone;
  return closing_[i];
}

std::size_t Brackets::after_operator(std::string_view text, std::size_t i) {
  const std::string_view rest = text.substr(i);
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return i + symbol.size();
  }
  return i;
}

}  // namespace geiger::naming
