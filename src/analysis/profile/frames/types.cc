#include "analysis/profile/frames/types.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "analysis/profile/frames/frame_rules.h"
#include "base/index_of.h"

namespace geiger::profile {

namespace {

/// Where the name is in the function: at its start, or after a return type, and not
/// within an argument.
std::size_t place_of(std::string_view function, std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const bool is_word = i == 0 || function[i - 1] == ' ';
    if (depth == 0 && is_word && function.substr(i).starts_with(name)) return i;
    if (function[i] == '<' || function[i] == '(') ++depth;
    if (function[i] == '>' || function[i] == ')') --depth;
  }
  return std::string_view::npos;
}

bool is_operator(std::string_view text, std::size_t at) {
  // "operator->", "->" of trailing types: no bracket.
  return at > 0 && text[at - 1] == '-';
}

/// The contents of the bracket that was opened before `text`: its first argument, and where
/// the text goes on after its end.
struct Bracket {
  std::string_view first;
  std::size_t end = std::string_view::npos;
};

Bracket bracket_of(std::string_view text) {
  Bracket bracket;
  std::size_t first_end = std::string_view::npos;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && c == ',' && first_end == std::string_view::npos) first_end = i;
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0) break;  // Closes what it never opened.
    if (c != '>' || is_operator(text, i)) continue;
    if (depth-- > 0) continue;
    bracket.first = text.substr(0, std::min(first_end, i));
    bracket.end = i + 1;
    break;
  }
  while (bracket.first.ends_with(' ')) bracket.first.remove_suffix(1);
  return bracket;
}

std::string_view without_holders(std::string_view type, std::span<const std::string_view> holders) {
  for (bool is_held = true; is_held;) {
    is_held = std::ranges::any_of(holders, [&](std::string_view holder) {
      if (!type.starts_with(holder)) return false;
      const Bracket bracket = bracket_of(type.substr(holder.size()));
      if (bracket.end == std::string_view::npos || bracket.first.empty()) return false;
      type = bracket.first;
      return true;
    });
  }
  return type;
}

/// "T" and "A" are the names of parameters, not of types.
bool is_parameter(std::string_view type) {
  return type.size() == 1 && std::isupper(static_cast<unsigned char>(type[0])) != 0;
}

/// Parameters follow, or a tag, or nothing: inlined functions are often without.
bool has_member(std::string_view rest, const TypeRule& rule) {
  if (!rest.starts_with(rule.members)) return false;
  rest.remove_prefix(rule.members.size());
  return rule.is_start || rest.empty() || rest[0] == '(' || rest[0] == '[';
}

/// The type that stands in the place of the rule's.
std::optional<std::string_view> apply(const TypeRule& rule, std::string_view function) {
  const std::size_t at = place_of(function, rule.name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view inside = function.substr(at + rule.name.size());
  const Bracket bracket = bracket_of(inside);
  if (bracket.end == std::string_view::npos) return std::nullopt;
  if (!has_member(inside.substr(bracket.end), rule)) return std::nullopt;
  return bracket.first;
}

/// "Request::operator new(unsigned long)".
std::optional<std::string> owner_of_operator_new(std::string_view function) {
  constexpr std::string_view kNew = "::operator new";
  const std::size_t at = function.rfind(kNew);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view rest = function.substr(at + kNew.size());
  if (!rest.starts_with('(') && !rest.starts_with("[](")) return std::nullopt;
  return std::string(function.substr(0, at));
}

}  // namespace

std::optional<std::string> type_allocated_by(std::string_view function, const FrameRules& rules) {
  if (auto owner = owner_of_operator_new(function)) return owner;
  const std::vector<const TypeRules*> known = rules.types();
  for (const TypeRules* file : known) {
    for (const TypeRule& rule : file->allocators) {
      auto type = apply(rule, function);
      for (const TypeRules* held : known) {
        if (type) type = without_holders(*type, held->holders);
      }
      if (type && !type->empty() && !is_parameter(*type)) return std::string(*type);
    }
  }
  return std::nullopt;
}

namespace {

/// Of a frame: what it says about the type, beside the number of one.
constexpr std::uint32_t kPassesOn = kNone;
constexpr std::uint32_t kNotAsked = kNone - 1;

}  // namespace

Types::Types(const Recording& recording) : names_{std::string(kUnknownType)} {
  known_[names_[0]] = kUnknown;
  for (const Name& name : recording.types) of_name_.push_back(number(name.text));
  const FrameRules& rules = rules_of(recording);
  // Each frame is examined once, and only if a stack reaches it.
  std::vector<std::uint32_t> of_frame(recording.frames.size(), kNotAsked);
  const auto ask = [&](std::uint32_t frame) {
    if (of_frame[frame] != kNotAsked) return of_frame[frame];
    const std::string& function = recording.frames[frame].function;
    if (rules.passes_allocation_on(function)) return of_frame[frame] = kPassesOn;
    const auto type = type_allocated_by(function, rules);
    return of_frame[frame] = type ? number(*type) : kUnknown;
  };
  const auto told_by = [&](const Stack& stack) {
    for (const std::uint32_t location : stack.locations) {
      const auto& frames = recording.locations[location].frames;
      if (frames.empty()) return kUnknown;
      for (const std::uint32_t frame : frames) {
        const std::uint32_t type = ask(frame);
        if (type != kPassesOn) return type;
      }
    }
    return kUnknown;
  };
  for (const Stack& stack : recording.stacks) of_stack_.push_back(told_by(stack));
}

std::uint32_t Types::number(const std::string& name) {
  return base::index_of(known_, name, names_);
}

}  // namespace geiger::profile
