#include "analysis/naming/path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

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

namespace {

constexpr std::string_view kClang = "$_";
constexpr std::string_view kLlvm = "'lambda";

/// The number `digits` plus `add`; as they are where they are no such number.
std::string raised(std::string_view digits, std::uint32_t add) {
  const auto number = base::number_in<std::uint32_t>(digits);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max() - add) {
    return std::string(digits);
  }
  return std::to_string(*number + add);
}

}  // namespace

bool is_clang_unnamed(std::string_view word) {
  return word.starts_with(kClang) && word.size() > kClang.size() &&
         word.find_first_not_of("0123456789", kClang.size()) == std::string_view::npos;
}

std::string lambda_number(std::string_view word) {
  if (is_clang_unnamed(word)) return raised(word.substr(kClang.size()), 1);
  if (word.starts_with(kLlvm)) {
    const std::string_view rest = word.substr(kLlvm.size());
    const std::string_view digits = rest.substr(0, rest.find('\''));
    return digits.empty() ? "1" : raised(digits, 2);
  }
  const std::size_t mark = word.rfind('#');
  if (mark == std::string_view::npos) return "";
  return std::string(word.substr(mark + 1, word.find_first_of("}>", mark) - mark - 1));
}

namespace {

using Kind = Component::Kind;

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Behind `[abi:cxx11]` and crate disambiguators, `[0123456789abcdef]`.
std::size_t after_tags(const Brackets& text, std::size_t i, std::size_t end) {
  while (text.at(i) == '[') {
    const std::size_t close = text.closing(i, end);
    if (close == kNone) break;
    const std::string_view tag = text.part(i + 1, close);
    const bool is_hash = tag.size() >= 8 && std::ranges::all_of(tag, is_lower_hex);
    if (!tag.starts_with("abi:") && !is_hash) break;
    i = close + 1;
  }
  return i;
}

std::size_t after_identifier(const Brackets& text, std::size_t i, std::size_t end) {
  while (i < end && is_identifier(text.at(i))) ++i;
  return i;
}

/// The type of a conversion operator, up to the parameters: the last parentheses at its level.
std::size_t after_conversion(const Brackets& text, std::size_t i, std::size_t end) {
  std::size_t parameters = end;
  while (i < end) {
    const std::size_t close = text.closing(i, end);
    if (close == kNone) {
      if (text.at(i) == ',' || text.at(i) == ')' || text.at(i) == '>') return i;
      ++i;
      continue;
    }
    if (text.at(i) == '(' && close > i + 1 && text.has(i, "(anonymous namespace)")) {
      i = close + 1;
      continue;
    }
    if (text.at(i) == '(') {
      parameters = i;
      if (text.has(after_qualifiers(text, close + 1), "::")) return i;
    }
    i = close + 1;
  }
  return parameters;
}

/// `new`, `delete[]`, `co_await`: words that are not types.
std::size_t after_word_operator(const Brackets& text, std::size_t i, std::size_t end) {
  constexpr std::array<std::string_view, 3> kWords{" new", " delete", " co_await"};
  for (const std::string_view word : kWords) {
    const std::size_t next = i + word.size();
    if (!text.has(i, word) || next > end || is_identifier(text.at(next))) continue;
    return text.has(next, "[]") ? next + 2 : next;
  }
  return i;
}

/// Behind a literal's suffix: `operator"" _ms`.
std::size_t after_literal_suffix(const Brackets& text, std::size_t i, std::size_t end) {
  if (text.at(i) == ' ') ++i;
  return after_identifier(text, i, end);
}

class PathReader {
 public:
  PathReader(const Brackets& text, Span within)
      : text_(text), at_(within.begin), end_(within.end) {}

  Path read() {
    while (read_component()) {
      path_.end = at_;
      read_parameters();
      if (!text_.has(at_, "::") || at_ + 2 >= end_) break;
      at_ += 2;
    }
    return std::move(path_);
  }

 private:
  Component& last() { return path_.components.back(); }

  void add(Kind kind, std::size_t begin, std::size_t end) {
    path_.components.push_back({kind, {begin, end}, {}, {}});
    at_ = end;
  }

  bool read_component() {
    if (at_ >= end_) return false;
    switch (text_.at(at_)) {
      case '(':
        return read_anonymous();
      case '{':
        return read_braces();
      case '\'':
        return read_quoted();
      case '<':
        return read_angle();
      default:
        return read_name();
    }
  }

  bool read_anonymous() {
    const std::size_t close = text_.closing(at_, end_);
    if (close == kNone || !text_.has(at_, "(anonymous namespace)")) return false;
    add(Kind::kAnonymous, at_, close + 1);
    return true;
  }

  bool read_braces() {
    const std::size_t close = text_.closing(at_, end_);
    if (close == kNone) return false;
    const bool is_anonymous = text_.has(at_, "{anonymous}");
    const bool is_lambda =
        text_.has(at_, "{lambda") || text_.has(at_, "{{closure") || text_.has(at_, "{closure");
    add(is_lambda ? Kind::kLambda : is_anonymous ? Kind::kAnonymous : Kind::kName, at_, close + 1);
    read_arguments();
    return true;
  }

  /// LLVM's words: 'lambda'(int), 'lambda0'(), 'unnamed'.
  bool read_quoted() {
    constexpr std::size_t kMostQuoted = 32;
    const std::string_view rest = text_.part(at_ + 1, std::min(at_ + kMostQuoted, end_));
    const std::size_t length = rest.find('\'');
    if (length == std::string_view::npos || length == 0) return false;
    std::size_t end = at_ + length + 2;
    const bool is_lambda = rest.starts_with("lambda");
    const std::size_t close = text_.at(end) == '(' ? text_.closing(end, end_) : kNone;
    if (is_lambda && close != kNone) end = close + 1;
    add(is_lambda ? Kind::kLambda : Kind::kName, at_, end);
    read_arguments();
    return true;
  }

  /// Other types without a name have members with names.
  [[nodiscard]] bool is_clang_lambda(std::string_view word, std::size_t end) const {
    return is_clang_unnamed(word) && (!text_.has(end, "::") || text_.has(end, "::operator()") ||
                                      text_.has(end, "::__invoke"));
  }

  /// Rust: an implementation, or the arguments of `size_of::<u8>`.
  bool read_angle() {
    const std::size_t close = text_.closing(at_, end_);
    if (close == kNone) return false;
    const Span inner{at_ + 1, close};
    if (text_.has(at_, "<lambda(")) {
      add(Kind::kLambda, at_, close + 1);
      return true;
    }
    const bool is_impl = path_.components.empty() || text_.has(inner.begin, "impl ");
    if (!is_impl && last().arguments.is_empty() && last().kind != Kind::kImpl) {
      last().arguments = inner;
      at_ = close + 1;
      return true;
    }
    add(Kind::kImpl, inner.begin, inner.end);
    at_ = close + 1;
    return true;
  }

  bool read_name() {
    const std::size_t begin = at_;
    std::size_t i = text_.at(at_) == '~' ? at_ + 1 : at_;
    if (text_.at(i) == '[' && text_.closing(i, end_) != kNone) {
      add(Kind::kName, begin, text_.closing(i, end_) + 1);  // A structured binding.
      return true;
    }
    i = after_identifier(text_, i, end_);
    if (i == begin || (i == begin + 1 && text_.at(begin) == '~')) return false;
    const std::string_view word = text_.part(begin, i);
    if (word == "operator") return read_operator(begin, i);
    if (word == "decltype") return read_decltype(begin, i);
    add(is_clang_lambda(word, i) ? Kind::kLambda : Kind::kName, begin, i);
    at_ = after_tags(text_, at_, end_);
    read_arguments();
    return true;
  }

  bool read_operator(std::size_t begin, std::size_t i) {
    std::size_t end = Brackets::after_operator(text_.text(), i);
    if (end > i && text_.has(i, "\"\"")) end = after_literal_suffix(text_, end, end_);
    if (end == i) end = after_word_operator(text_, i, end_);
    const bool is_conversion = end == i && text_.at(i) == ' ';
    if (is_conversion) end = after_conversion(text_, i + 1, end_);
    add(end > i ? Kind::kOperator : Kind::kName, begin, std::min(end, end_));
    if (is_conversion) return true;
    at_ = after_tags(text_, at_, end_);
    if (text_.has(at_, " <") && text_.closing(at_ + 1, end_) != kNone) ++at_;
    read_arguments();
    return true;
  }

  /// decltype (x + y), a type; decltype(auto).
  bool read_decltype(std::size_t begin, std::size_t i) {
    if (text_.at(i) == ' ') ++i;
    const std::size_t close = text_.at(i) == '(' ? text_.closing(i, end_) : kNone;
    add(Kind::kName, begin, close == kNone ? begin + 8 : close + 1);
    return true;
  }

  void read_arguments() {
    const std::size_t close = text_.at(at_) == '<' ? text_.closing(at_, end_) : kNone;
    if (close == kNone) return;
    last().arguments = {at_ + 1, close};
    at_ = after_tags(text_, close + 1, end_);
  }

  /// Parameters belong to the path only where something local to the function follows.
  void read_parameters() {
    const std::size_t close = text_.at(at_) == '(' ? text_.closing(at_, end_) : kNone;
    if (close == kNone) return;
    const std::size_t next = after_qualifiers(text_, close + 1);
    if (!text_.has(next, "::") || next + 2 >= end_) return;
    last().parameters = {at_ + 1, close};
    at_ = next;
  }

  const Brackets& text_;
  std::size_t at_, end_;
  Path path_;
};

/// Where the name begins in `(*name(int))`, the declarator of a function that returns a pointer
/// to a function; kNone where the parentheses hold something else.
std::size_t declared_name(const Brackets& text, std::size_t open, std::size_t close) {
  std::size_t i = open + 1;
  while (i < close && text.at(i) != '*' && text.at(i) != '&') {
    const std::size_t skipped = text.closing(i, close);
    i = skipped == kNone ? i + 1 : skipped + 1;
  }
  if (i >= close) return kNone;
  while (i < close && (text.at(i) == '*' || text.at(i) == '&' || text.at(i) == ' ')) ++i;
  return text.has(i, "const ") ? i + 6 : i;
}

bool is_end(const Brackets& text, std::size_t i, std::size_t end) {
  return i >= end || text.has(i, " requires ") || text.has(i, " [with ");
}

/// The parameters at `open`, if nothing follows them that is not a function's.
bool read_signature(const Brackets& text, std::size_t open, std::size_t end, Function& out) {
  const std::size_t close = text.closing(open, end);
  if (close == kNone) return false;
  const std::size_t after = after_qualifiers(text, close + 1);
  if (!is_end(text, after, end)) return false;
  out.has_parameters = true;
  out.parameters = {open + 1, close};
  out.qualifiers = {close + 1, std::min(after, end)};
  return true;
}

}  // namespace

std::size_t after_qualifiers(const Brackets& text, std::size_t begin) {
  constexpr std::array<std::string_view, 8> kQualifiers{
      " const", " volatile", " restrict", " noexcept", " &&", " &", "&&", "&"};
  bool is_going_on = true;
  while (is_going_on) {
    is_going_on = false;
    for (const std::string_view qualifier : kQualifiers) {
      const std::size_t next = begin + qualifier.size();
      if (!text.has(begin, qualifier)) continue;
      if (is_identifier(qualifier.back()) && is_identifier(text.at(next))) continue;
      begin = next;
      is_going_on = true;
    }
    const std::size_t tagged = after_tags(text, begin, text.size());
    is_going_on |= tagged != begin;
    begin = tagged;
  }
  return begin;
}

Path parse_path(const Brackets& text, Span within) { return PathReader(text, within).read(); }

Function parse_function(const Brackets& text) {
  Function function;
  std::size_t i = 0;
  std::size_t end = text.size();
  bool has_words = false;
  while (i < end) {
    function.path = parse_path(text, {i, end});
    if (!function.path.components.empty()) {
      i = function.path.end;
      if (i >= end && (!has_words || end < text.size())) return function;
      if (text.at(i) == '(' && read_signature(text, i, end, function)) return function;
    }
    const char next = text.at(i);
    if (next == '(' && has_words) {
      const std::size_t close = text.closing(i, end);
      const std::size_t name = close == kNone ? kNone : declared_name(text, i, close);
      if (name == kNone) return {};
      i = name;
      end = close;
      continue;
    }
    if (next != ' ' && next != '*' && next != '&') return {};
    has_words = true;
    ++i;
  }
  return {};
}

}  // namespace geiger::naming
