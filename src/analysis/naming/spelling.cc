#include "analysis/naming/spelling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/naming/path.h"

namespace geiger::naming {

// What the standard libraries write into names that their users never typed.

/// Whether a namespace named `name` within one named `outer` ("" at the top) is part of
/// an implementation or of a version: `__cxx11`, `__1`, `lts_20220623`.
[[nodiscard]] bool is_inline_namespace(std::string_view name, std::string_view outer);

/// Whether the template argument is what the library's templates take where none is given:
/// `std::allocator<int>`. `is_first`: among its neighbours, where few such are defaults.
[[nodiscard]] bool is_default_argument(std::string_view argument, bool is_first);

/// "string" for basic_string<char, ...>; `name` where it has no shorter name.
[[nodiscard]] std::string_view name_of_basic(std::string_view name, std::string_view character);

/// `symbol` without `.isra.0`, ` [clone .cold]` and the like, which compilers append to the name
/// of the function that they made the code from.
[[nodiscard]] std::string_view without_clone(std::string_view symbol);

// Names of Python's functions, which are not those of C++: "outer.<locals>.<lambda>".

/// Whether only Python names functions so: "<module>", "f.<locals>.g", "Pool.<listcomp>".
[[nodiscard]] bool is_python_name(std::string_view name);

/// Without what says that a function is local to the one before it: "outer.<lambda>".
[[nodiscard]] std::string python_display_name(std::string_view name);

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool are_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

/// "v9" of prefix "v": digits after a prefix.
bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         are_digits(name.substr(prefix.size()));
}

bool is_standard(std::string_view name) { return name == "std" || name == "__gnu_cxx"; }

/// Without the namespaces of the library before a name; whether there was one in `is_library`.
std::string_view without_library(std::string_view text, bool& is_library) {
  is_library = false;
  for (;;) {
    const std::size_t end = text.find("::");
    if (end == std::string_view::npos) return text;
    const std::string_view name = text.substr(0, end);
    if (!is_standard(name) && !(is_library && is_inline_namespace(name, "std"))) return text;
    is_library = true;
    text.remove_prefix(end + 2);
  }
}

/// Whether `text` is `name<...>` and nothing else.
bool is_instance_of(std::string_view text, std::string_view name) {
  return text.size() > name.size() + 1 && text.starts_with(name) && text[name.size()] == '<' &&
         text.back() == '>';
}

std::string_view without_numbers(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == text.size()) return text;
    if (!are_digits(text.substr(dot + 1))) return text;
    text = text.substr(0, dot);
  }
}

/// `text` without one appended part; `text` where there is none.
std::string_view without_one_clone(std::string_view text) {
  constexpr std::array<std::string_view, 13> kParts{
      ".isra",       ".constprop", ".part",  ".cold",   ".lto_priv",    ".llvm",  ".warm",
      ".localalias", ".clone",     ".split", ".__uniq", ".specialized", ".__part"};
  for (const std::string_view opening : {" [clone ", " (."}) {
    const std::size_t at = text.rfind(opening);
    const char closer = opening == " (." ? ')' : ']';
    if (at == std::string_view::npos || text.back() != closer) continue;
    if (text.find(closer, at) == text.size() - 1) return text.substr(0, at);
  }
  constexpr std::string_view kShim = "{{vtable.shim}}";
  if (text.ends_with(kShim)) return text.substr(0, text.size() - kShim.size());
  const std::string_view plain = without_numbers(text);
  for (const std::string_view part : kParts) {
    if (plain.ends_with(part)) return plain.substr(0, plain.size() - part.size());
  }
  return text;
}

}  // namespace

bool is_inline_namespace(std::string_view name, std::string_view outer) {
  if (is_standard(outer)) {
    constexpr std::array<std::string_view, 12> kInline{"__cxx11", "__cxx1998", "_V2",  "__detail",
                                                       "__debug", "__profile", "__fs", "__ndk1",
                                                       "__ndk2",  "__Cr",      "__y1", "__gnu_cxx"};
    return std::ranges::find(kInline, name) != kInline.end() || is_numbered(name, "__") ||
           is_numbered(name, "_") || is_numbered(name, "fundamentals_v");
  }
  return is_numbered(name, "lts_") || (outer == "absl" && is_numbered(name, "debian")) ||
         name == "__cxx11" || name.starts_with("json_abi_") ||
         (outer == "fmt" && is_numbered(name, "v"));
}

bool is_default_argument(std::string_view argument, bool is_first) {
  constexpr std::array<std::string_view, 5> kOfRust{
      "alloc::alloc::Global", "Global", "std::hash::random::RandomState",
      "std::collections::hash::map::RandomState", "RandomState"};
  constexpr std::array<std::string_view, 7> kTemplates{
      "allocator", "less", "hash", "equal_to", "default_delete", "_Select1st", "_Identity"};
  constexpr std::array<std::string_view, 6> kPolicies{
      "_Mod_range_hashing", "_Default_ranged_hash", "_Prime_rehash_policy", "_Select1st",
      "_Identity",          "_Hashtable_traits"};
  bool is_library = false;
  const std::string_view plain = without_library(argument, is_library);
  if (is_library && is_instance_of(plain, "char_traits")) return true;
  if (is_first) return false;
  if (std::ranges::find(kOfRust, argument) != kOfRust.end()) return true;
  if (argument.starts_with("(__gnu_cxx::_Lock_policy)")) return true;
  if (!is_library) return false;
  return std::ranges::any_of(kTemplates,
                             [&](std::string_view name) { return is_instance_of(plain, name); }) ||
         std::ranges::any_of(kPolicies, [&](std::string_view name) {
           return plain == name || is_instance_of(plain, name);
         });
}

std::string_view name_of_basic(std::string_view name, std::string_view character) {
  struct Basic {
    std::string_view name, narrow, wide;
  };
  constexpr std::array<Basic, 20> kBasics{
      {{"basic_string", "string", "wstring"},
       {"basic_string_view", "string_view", "wstring_view"},
       {"basic_ios", "ios", "wios"},
       {"basic_istream", "istream", "wistream"},
       {"basic_ostream", "ostream", "wostream"},
       {"basic_iostream", "iostream", "wiostream"},
       {"basic_streambuf", "streambuf", "wstreambuf"},
       {"basic_stringbuf", "stringbuf", "wstringbuf"},
       {"basic_istringstream", "istringstream", "wistringstream"},
       {"basic_ostringstream", "ostringstream", "wostringstream"},
       {"basic_stringstream", "stringstream", "wstringstream"},
       {"basic_filebuf", "filebuf", "wfilebuf"},
       {"basic_ifstream", "ifstream", "wifstream"},
       {"basic_ofstream", "ofstream", "wofstream"},
       {"basic_fstream", "fstream", "wfstream"},
       {"basic_regex", "regex", "wregex"},
       {"basic_format_context", "format_context", "wformat_context"},
       {"basic_syncbuf", "syncbuf", "wsyncbuf"},
       {"basic_osyncstream", "osyncstream", "wosyncstream"},
       {"basic_spanbuf", "spanbuf", "wspanbuf"}}};
  const auto* const found = std::ranges::find(kBasics, name, &Basic::name);
  if (found == kBasics.end()) return name;
  if (character == "char") return found->narrow;
  if (character == "wchar_t") return found->wide;
  const bool is_string = name == "basic_string";
  if (is_string && character == "char8_t") return "u8string";
  if (is_string && character == "char16_t") return "u16string";
  if (is_string && character == "char32_t") return "u32string";
  return name;
}

std::string_view without_clone(std::string_view symbol) {
  for (;;) {
    const std::string_view shorter = without_one_clone(symbol);
    if (shorter.size() == symbol.size() || shorter.empty()) return symbol;
    symbol = shorter;
  }
}

namespace {

constexpr std::string_view kLocals = ".<locals>";

/// "<module>", "<generic parameters of f>"; no "<T as Trait>", which has a method behind it.
bool is_bracketed_word(std::string_view part) {
  if (part.size() < 3 || part.front() != '<' || part.back() != '>') return false;
  part = part.substr(1, part.size() - 2);
  return part.find_first_of("<>:&[]()*,") == part.npos && part.front() >= 'a' &&
         part.front() <= 'z' && part.find(" as ") == part.npos;
}

}  // namespace

bool is_python_name(std::string_view name) {
  if (name.find(".<locals>.") != name.npos) return true;
  const std::size_t open = name.rfind('<');
  const bool is_last = open == 0 || (open != name.npos && name[open - 1] == '.');
  return is_last && is_bracketed_word(name.substr(open));
}

std::string python_display_name(std::string_view name) {
  std::string shown;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t found = std::min(name.find(kLocals, at), name.size());
    shown += name.substr(at, found - at);
    at = std::min(found + kLocals.size(), name.size());
  }
  return shown;
}

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

namespace {

/// Of variables, and of what names them: "g_names[abi:cxx11] of thread main".
std::string without_abi_tags(std::string_view text) {
  constexpr std::string_view kTag = "[abi:";
  std::string out;
  for (std::size_t at; (at = text.find(kTag)) != std::string_view::npos;) {
    std::size_t end = at + kTag.size();
    while (end < text.size() && is_identifier(text[end])) ++end;
    const bool is_tag = at > 0 && end < text.size() && text[end] == ']';
    out += text.substr(0, is_tag ? at : end);
    text.remove_prefix(is_tag ? end + 1 : end);
  }
  return out += text;
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
  if (function.path.components.empty()) return without_abi_tags(whole);
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
