#include "analysis/naming/library_names.h"

#include <algorithm>
#include <array>

#include "analysis/naming/brackets.h"

namespace geiger::naming {
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

}  // namespace geiger::naming
