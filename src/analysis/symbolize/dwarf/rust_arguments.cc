#include "analysis/symbolize/dwarf/rust_arguments.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace geiger::symbolize {
namespace {

bool is_hex_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// +1 after an opening bracket, -1 after a closing one; "->" is not a bracket.
int change_of_depth(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '<' || c == '(' || c == '[' || c == '{') return 1;
  if (c == '>' && at > 0 && text[at - 1] == '-') return 0;
  return c == '>' || c == ')' || c == ']' || c == '}' ? -1 : 0;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

/// The parts between the commas that are outside further brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    depth += change_of_depth(list, i);
    if (list[i] != ',' || depth != 0) continue;
    parts.push_back(trimmed(list.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(list.substr(begin)));
  return parts;
}

/// The word of `path` that begins at `at`; empty where none begins, or where it is part of a path.
std::string_view word_at(std::string_view path, std::size_t at) {
  if (!is_word(path[at]) || (at > 0 && (is_word(path[at - 1]) || path[at - 1] == ':'))) return {};
  std::size_t end = at;
  while (end < path.size() && is_word(path[end])) ++end;
  return path.substr(end).starts_with("::") ? std::string_view() : path.substr(at, end - at);
}

}  // namespace

bool is_rust_legacy(std::string_view linkage) {
  // "17h", 16 digits, "E".
  constexpr std::string_view kHash = "17h";
  constexpr std::size_t kDigits = 16;
  if (!linkage.starts_with("_ZN") || !linkage.ends_with('E')) return false;
  linkage.remove_suffix(1);
  if (linkage.size() < kHash.size() + kDigits) return false;
  const std::string_view digits = linkage.substr(linkage.size() - kDigits);
  linkage.remove_suffix(kDigits);
  return linkage.ends_with(kHash) && std::ranges::all_of(digits, is_hex_digit);
}

std::vector<TypeArgument> type_arguments(std::string_view name,
                                         const std::vector<std::string_view>& parameters) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos || !name.ends_with('>') || parameters.empty()) return {};
  const auto types = split(name.substr(open + 1, name.size() - open - 2));
  if (types.size() != parameters.size()) return {};
  std::vector<TypeArgument> arguments;
  for (std::size_t i = 0; i < types.size(); ++i) arguments.emplace_back(parameters[i], types[i]);
  return arguments;
}

std::string with_arguments(std::string_view path, const std::vector<TypeArgument>& arguments) {
  std::string whole;
  int depth = 0;
  for (std::size_t i = 0; i < path.size();) {
    const std::string_view word = depth > 0 ? word_at(path, i) : std::string_view();
    const auto argument = std::ranges::find(arguments, word, &TypeArgument::first);
    if (!word.empty() && argument != arguments.end()) {
      whole += argument->second;
      i += word.size();
      continue;
    }
    depth += change_of_depth(path, i);
    whole += path[i++];
  }
  return whole;
}

}  // namespace geiger::symbolize
