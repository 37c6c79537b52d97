#include "analysis/naming/spelling.h"

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/naming/brackets.h"
#include "analysis/naming/lambda_names.h"
#include "analysis/naming/library_names.h"
#include "analysis/naming/path.h"
#include "analysis/naming/python_names.h"

namespace geiger::naming {
namespace {

using Kind = Component::Kind;
constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);
/// Template arguments of a component that take more bytes are folded.
constexpr std::size_t kMostArguments = 32;
/// Brackets within brackets; what is deeper is an ellipsis.
constexpr std::size_t kDeepest = 40;

/// What is left out of template arguments, each with all before it.
enum class Fold : std::uint8_t { kNothing, kNamespaces, kNested };

/// A type that Rust did not write down: "T" of a generic, "_".
bool is_placeholder(std::string_view argument) {
  const bool is_one = argument.size() == 1;
  return is_one && ((argument[0] >= 'A' && argument[0] <= 'Z') || argument[0] == '_');
}

bool is_rust_hash(std::string_view name) {
  constexpr std::size_t kBytes = 17;
  return name.size() == kBytes && name[0] == 'h' &&
         name.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

Span trimmed(const Brackets& text, Span span) {
  while (!span.is_empty() && text.at(span.begin) == ' ') ++span.begin;
  while (!span.is_empty() && text.at(span.end - 1) == ' ') --span.end;
  return span;
}

/// Where `what` is in `span` outside all brackets; kNone: nowhere.
std::size_t find_outside(const Brackets& text, Span span, std::string_view what) {
  for (std::size_t i = span.begin; i + what.size() <= span.end; ++i) {
    if (text.has(i, what)) return i;
    const std::size_t close = text.closing(i, span.end);
    if (close != kNone) i = close;
  }
  return kNone;
}

class Speller {
 public:
  Speller(const Brackets& text, const Detail& detail, bool has_parameters)
      : text_(text), detail_(detail), has_parameters_(has_parameters) {}

  void append(std::string_view words) { out_ += words; }

  void append_path(const Path& path, Fold fold);
  void append_function(const Path& path) {
    function_ = shown(path, Fold::kNothing).back();
    append_path(path, Fold::kNothing);
  }

  void append_list(Span list, Fold fold, bool drops_defaults);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] std::string_view name_of(const Component& component) const {
    return text_.part(component.name.begin, component.name.end);
  }
  [[nodiscard]] bool is_full() const { return out_.size() > limit_; }
  [[nodiscard]] std::vector<const Component*> shown(const Path& path, Fold fold) const;
  [[nodiscard]] bool is_left_out(const Path& path, std::size_t k) const;
  [[nodiscard]] std::size_t count_without_tail(const Path& path) const;
  [[nodiscard]] std::string_view basic_name(const Component& component, bool is_standard) const;

  void append_component(const Component& component, Fold fold);
  void append_implementation(Span inner);
  void append_lambda(const Component& lambda);
  void append_arguments(Span arguments, Fold fold);
  bool append_within(Span arguments, Fold fold, std::size_t most);
  void append_text(Span span, Fold fold);
  std::size_t append_token(std::size_t i, Span span, Fold fold);
  void append_group(std::size_t open, std::size_t close, Fold fold);
  [[nodiscard]] bool is_dropped(Span argument, bool is_first) const;

  const Brackets& text_;
  Detail detail_;
  bool has_parameters_;
  const Component* function_ = nullptr;  ///< The last component of the function's own name.
  std::string out_;
  std::size_t limit_ = kUnlimited;
  std::size_t depth_ = 0;
};

/// Components but for what follows the name of a lambda or is no part of the name at all.
std::size_t Speller::count_without_tail(const Path& path) const {
  std::size_t count = path.components.size();
  while (count > 1) {
    const Component& last = path.components[count - 1];
    const std::string_view name = name_of(last);
    const bool is_call = last.kind == Kind::kOperator || name == "_FUN" || name == "__invoke";
    const bool is_of_lambda = path.components[count - 2].kind == Kind::kLambda && is_call;
    const bool is_shim = name == "{{vtable.shim}}" || name.starts_with("{shim:");
    if (!is_of_lambda && !is_shim && !is_rust_hash(name)) break;
    --count;
  }
  return count;
}

bool Speller::is_left_out(const Path& path, std::size_t k) const {
  if (detail_.all_namespaces) return false;
  const Component& component = path.components[k];
  if (component.kind == Kind::kAnonymous) return true;
  // The call operator of a lambda that something local is in.
  if (k > 0 && path.components[k - 1].kind == Kind::kLambda && component.kind == Kind::kOperator) {
    return true;
  }
  if (component.kind != Kind::kName || !component.arguments.is_empty()) return false;
  const std::string_view name = name_of(component);
  if (name.starts_with("{{impl}}") || name.starts_with("{impl#")) return true;
  if (name.starts_with("{default arg")) return true;
  if (k == 0) return name == "std" || name == "__gnu_cxx";
  const std::string_view first = name_of(path.components.front());
  const std::string_view outer = name_of(path.components[k - 1]);
  return is_inline_namespace(name, first == "std" ? first : outer);
}

std::vector<const Component*> Speller::shown(const Path& path, Fold fold) const {
  std::vector<const Component*> shown;
  const std::size_t count = count_without_tail(path);
  for (std::size_t k = 0; k < count; ++k) {
    const Component& component = path.components[k];
    // The part before an implementation is the module that contains it.
    if (component.kind == Kind::kImpl) shown.clear();
    const bool is_last = k + 1 == count;
    if (is_last || !is_left_out(path, k)) shown.push_back(&component);
  }
  if (fold == Fold::kNothing || shown.size() < 2) return shown;
  const std::size_t kept = shown.back()->kind == Kind::kLambda ? 2 : 1;
  shown.erase(shown.begin(), shown.end() - static_cast<std::ptrdiff_t>(kept));
  return shown;
}

std::string_view Speller::basic_name(const Component& component, bool is_standard) const {
  const std::string_view name = name_of(component);
  if (!is_standard || component.arguments.is_empty() || detail_.all_arguments) return name;
  const Span list = component.arguments;
  const std::size_t comma = find_outside(text_, list, ",");
  const Span first{list.begin, comma == kNone ? list.end : comma};
  if (comma != kNone) {
    for (std::size_t i = comma; i != kNone;) {
      const std::size_t next = find_outside(text_, {i + 1, list.end}, ",");
      const Span argument = trimmed(text_, {i + 1, next == kNone ? list.end : next});
      if (!is_default_argument(text_.part(argument.begin, argument.end), false)) return name;
      i = next;
    }
  }
  const Span character = trimmed(text_, first);
  return name_of_basic(name, text_.part(character.begin, character.end));
}

void Speller::append_path(const Path& path, Fold fold) {
  const bool is_standard = name_of(path.components.front()) == "std";
  std::string_view long_name;
  std::string_view short_name;  // Of the class, which its constructor is named by.
  bool is_first = true;
  for (const Component* component : shown(path, fold)) {
    if (is_full()) return;
    if (!is_first) append("::");
    is_first = false;
    const std::string_view name = name_of(*component);
    const std::string_view basic = basic_name(*component, is_standard);
    if (component->kind == Kind::kName && basic != name) {
      append(basic);
      long_name = name;
      short_name = basic;
    } else if (!long_name.empty() && name == long_name) {
      append(short_name);
    } else if (!long_name.empty() && name.starts_with('~') && name.substr(1) == long_name) {
      append("~");
      append(short_name);
    } else {
      append_component(*component, fold);
    }
  }
}

void Speller::append_component(const Component& component, Fold fold) {
  const std::string_view name = name_of(component);
  if (component.kind == Kind::kImpl) return append_implementation(component.name);
  if (component.kind == Kind::kLambda) {
    append_lambda(component);
  } else if (name.starts_with("{unnamed") || name == "'unnamed'" || is_clang_unnamed(name)) {
    append("{unnamed}");
  } else if (name.starts_with("decltype(") || name.starts_with("decltype (")) {
    append("decltype(…)");
  } else if (component.kind == Kind::kOperator && name.starts_with("operator ")) {
    append("operator ");
    append_text({component.name.begin + 9, component.name.end}, Fold::kNamespaces);
  } else if (name.size() > 1 && name[0] >= '0' && name[0] <= '9') {
    append(name.substr(0, name.find_last_not_of("ul") + 1));
  } else {
    append(name);
  }
  // Else the brackets of "operator< <int>" would be the operator's.
  const bool is_less = name.ends_with('<');
  if (is_less) append(" ");
  append_arguments(component.arguments, fold);
  if (is_less && out_.back() == ' ') out_.pop_back();
}

void Speller::append_lambda(const Component& lambda) {
  const std::string_view word = name_of(lambda);
  append(word.find("closure") != std::string_view::npos ? "{closure" : "{lambda");
  const bool has_line = &lambda == function_ && detail_.lambda_line != 0;
  if (has_line) append(":" + std::to_string(detail_.lambda_line));
  const std::string number = detail_.lambda_numbers ? lambda_number(word) : "";
  if (!number.empty()) append("#" + number);
  append("}");
}

/// `<T as Trait>` of either way to write it; the type alone where it has no trait.
void Speller::append_implementation(Span inner) {
  Span type = inner;
  Span trait;
  if (text_.has(inner.begin, "impl ")) {
    type.begin += 5;
    const std::size_t at = find_outside(text_, type, " for ");
    if (at != kNone) {
      trait = {type.begin, at};
      type.begin = at + 5;
    }
  } else if (const std::size_t at = find_outside(text_, inner, " as "); at != kNone) {
    trait = {at + 4, inner.end};
    type.end = at;
  }
  if (trait.is_empty()) return append_text(type, Fold::kNothing);
  append("<");
  append_text(type, Fold::kNamespaces);
  append(" as ");
  append_text(trait, Fold::kNamespaces);
  append(">");
}

bool Speller::is_dropped(Span argument, bool is_first) const {
  if (detail_.all_arguments) return false;
  const std::string_view text = text_.part(argument.begin, argument.end);
  return is_default_argument(text, is_first) || (!has_parameters_ && is_placeholder(text));
}

/// Appends the arguments with their brackets if they take at most `most` bytes.
bool Speller::append_within(Span arguments, Fold fold, std::size_t most) {
  const std::size_t before = out_.size();
  limit_ = before + most + 2;
  append("<");
  append_list(arguments, fold, true);
  const bool is_empty = out_.size() == before + 1;
  append(">");
  const bool is_within = !is_full();
  limit_ = kUnlimited;
  if (is_empty || !is_within) out_.resize(before);
  return is_within;
}

void Speller::append_arguments(Span arguments, Fold fold) {
  if (arguments.is_empty() || is_full()) return;
  if (detail_.all_arguments && depth_ < kDeepest) {
    append("<");
    append_list(arguments, fold, false);
    return append(">");
  }
  if (limit_ != kUnlimited) {  // Within the arguments of another.
    if (fold == Fold::kNested || depth_ >= kDeepest) return append("<…>");
    const std::size_t before = out_.size();
    append("<");
    append_list(arguments, fold, true);
    if (out_.size() == before + 1) return out_.resize(before);
    return append(">");
  }
  for (const Fold next : {Fold::kNothing, Fold::kNamespaces, Fold::kNested}) {
    if (next >= fold && append_within(arguments, next, kMostArguments)) return;
  }
  const std::size_t comma = find_outside(text_, arguments, ",");
  const std::size_t before = out_.size();
  if (comma != kNone && append_within({arguments.begin, comma}, Fold::kNested, kMostArguments)) {
    if (out_.size() == before) return append("<…>");
    out_.pop_back();
    return append(", …>");
  }
  append("<…>");
}

void Speller::append_list(Span list, Fold fold, bool drops_defaults) {
  bool is_first_shown = true;
  bool is_first = true;
  while (!list.is_empty() && !is_full()) {
    const std::size_t comma = find_outside(text_, list, ",");
    const Span argument = trimmed(text_, {list.begin, comma == kNone ? list.end : comma});
    list.begin = comma == kNone ? list.end : comma + 1;
    if (!argument.is_empty() && !(drops_defaults && is_dropped(argument, is_first))) {
      if (!is_first_shown) append(", ");
      is_first_shown = false;
      append_text(argument, fold);
    }
    is_first = false;
  }
}

void Speller::append_text(Span span, Fold fold) {
  if (depth_ >= kDeepest) return append("…");
  ++depth_;
  for (std::size_t i = span.begin; i < span.end && !is_full();) i = append_token(i, span, fold);
  --depth_;
}

/// Appends what begins at `i`; returns where it ends.
std::size_t Speller::append_token(std::size_t i, Span span, Fold fold) {
  const char c = text_.at(i);
  const bool may_begin_path =
      is_identifier(c) || c == '(' || c == '{' || c == '\'' || c == '~' || c == '<';
  if (may_begin_path) {
    const Path path = parse_path(text_, {i, span.end});
    if (!path.components.empty()) {
      append_path(path, fold);
      return path.end;
    }
  }
  const std::size_t close = text_.closing(i, span.end);
  if (close == kNone) {
    out_ += c;
    return i + 1;
  }
  append_group(i, close, fold);
  return close + 1;
}

void Speller::append_group(std::size_t open, std::size_t close, Fold fold) {
  out_ += text_.at(open);
  append_text({open + 1, close}, fold);
  out_ += text_.at(close);
}

/// Where the name begins that the words before it say something about: "virtual thunk to ".
std::size_t after_words(std::string_view text) {
  constexpr std::array<std::string_view, 3> kThunks{"non-virtual thunk to ", "virtual thunk to ",
                                                    "covariant return thunk to "};
  for (const std::string_view words : kThunks) {
    if (text.starts_with(words)) return words.size();
  }
  return 0;
}

/// "vtable for " of a name that stays in front of what it is for.
std::string_view subject_words(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords{"vtable for ",
                                                   "VTT for ",
                                                   "typeinfo for ",
                                                   "typeinfo name for ",
                                                   "guard variable for ",
                                                   "TLS init function for ",
                                                   "TLS wrapper function for ",
                                                   "transaction clone for "};
  for (const std::string_view words : kWords) {
    if (text.starts_with(words)) return words;
  }
  return {};
}

}  // namespace

std::string spelled(std::string_view demangled, const Detail& detail) {
  if (is_python_name(demangled)) return python_display_name(demangled);
  const std::string_view whole = without_clone(demangled);
  const std::string_view words = subject_words(whole);
  const std::string_view name = whole.substr(words.empty() ? after_words(whole) : words.size());
  // What g++ makes of the variables of a file that need code to begin with.
  if (name.starts_with("__static_initialization_and_destruction_0")) return "{static init}";
  const Brackets text(name);
  const Function function = parse_function(text);
  if (function.path.components.empty()) return std::string(whole);
  Speller speller(text, detail, function.has_parameters);
  speller.append(words);
  speller.append_function(function.path);
  if (detail.parameters && function.has_parameters) {
    speller.append("(");
    speller.append_list(function.parameters, Fold::kNamespaces, false);
    speller.append(")");
    speller.append(text.part(function.qualifiers.begin, function.qualifiers.end));
  }
  std::string out = speller.take();
  return out.empty() ? std::string(whole) : out;
}

}  // namespace geiger::naming
