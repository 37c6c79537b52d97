#include "analysis/profile/frames/types.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/profile/frames/plumbing_names.h"
#include "base/index_of.h"

namespace geiger::profile {

namespace {

/// A function template, or a member of a class template, that allocates its first
/// argument's type.
struct Rule {
  std::string_view name;     ///< Up to the bracket before the type.
  std::string_view members;  ///< What follows after the bracket,
  bool is_start = false;     ///< as the whole name or, if so, as the start of one.
};

/// All there is to know; the order does not matter. Tested one by one on real names.
constexpr std::array kRules{
    // libstdc++ 12 and later, 4.0 to 11, and where the base class was inlined.
    Rule{"std::__new_allocator<", "::allocate"},
    Rule{"__gnu_cxx::new_allocator<", "::allocate"},
    Rule{"std::allocator<", "::allocate"},
    Rule{"std::pmr::polymorphic_allocator<", "::allocate"},
    // libc++
    Rule{"std::__1::allocator<", "::allocate"},
    // operator new stands directly below these.
    Rule{"std::make_unique<", ""},
    Rule{"std::make_unique_for_overwrite<", ""},
    Rule{"std::__1::make_unique<", ""},
    // Of a string only the characters are ever allocated; so also without debug
    // information, where nothing shows the allocator.
    Rule{"std::__cxx11::basic_string<", "::_M_", true},
    Rule{"std::__cxx11::basic_string<", "::reserve"},
    // Rust; without debug information legacy mangling has the parameter instead of the type.
    Rule{"<alloc::raw_vec::RawVec<", ">::", true},
    Rule{"alloc::raw_vec::RawVec<", "::", true},
    Rule{"<alloc::boxed::Box<", ">::", true},
    Rule{"alloc::boxed::Box<", "::", true},
    Rule{"<alloc::vec::Vec<", ">::", true},
    Rule{"alloc::vec::Vec<", "::", true},
    Rule{"<hashbrown::raw::RawTable<", ">::", true},
    Rule{"hashbrown::raw::RawTable<", "::", true},
};

/// Nodes that hold one object of the type that they name first.
constexpr std::array<std::string_view, 15> kHolders{"std::_Rb_tree_node<",
                                                    "std::_List_node<",
                                                    "std::_Fwd_list_node<",
                                                    "std::__detail::_Hash_node<",
                                                    "std::_Sp_counted_ptr_inplace<",
                                                    "std::__1::__tree_node<",
                                                    "std::__1::__list_node<",
                                                    "std::__1::__forward_list_node<",
                                                    "std::__1::__hash_node<",
                                                    "std::__1::__shared_ptr_emplace<",
                                                    "std::__1::__value_type<",
                                                    "core::mem::manually_drop::ManuallyDrop<",
                                                    "alloc::sync::ArcInner<",
                                                    "alloc::rc::RcInner<",
                                                    "alloc::rc::RcBox<"};

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

std::string_view without_holders(std::string_view type) {
  for (bool is_held = true; is_held;) {
    is_held = std::ranges::any_of(kHolders, [&](std::string_view holder) {
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
bool has_member(std::string_view rest, const Rule& rule) {
  if (!rest.starts_with(rule.members)) return false;
  rest.remove_prefix(rule.members.size());
  return rule.is_start || rest.empty() || rest[0] == '(' || rest[0] == '[';
}

std::optional<std::string> apply(const Rule& rule, std::string_view function) {
  const std::size_t at = place_of(function, rule.name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view inside = function.substr(at + rule.name.size());
  const Bracket bracket = bracket_of(inside);
  if (bracket.end == std::string_view::npos) return std::nullopt;
  if (!has_member(inside.substr(bracket.end), rule)) return std::nullopt;
  const std::string_view type = without_holders(bracket.first);
  if (type.empty() || is_parameter(type)) return std::nullopt;
  return std::string(type);
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

std::optional<std::string> type_allocated_by(std::string_view function) {
  if (auto owner = owner_of_operator_new(function)) return owner;
  for (const Rule& rule : kRules) {
    if (auto type = apply(rule, function)) return type;
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
  // Each frame is examined once, and only if a stack reaches it.
  std::vector<std::uint32_t> of_frame(recording.frames.size(), kNotAsked);
  const auto ask = [&](std::uint32_t frame) {
    if (of_frame[frame] != kNotAsked) return of_frame[frame];
    const std::string& function = recording.frames[frame].function;
    if (passes_allocation_on(function)) return of_frame[frame] = kPassesOn;
    const auto type = type_allocated_by(function);
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
