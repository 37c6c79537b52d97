#include <algorithm>
#include <array>
#include <unordered_map>

#include "analysis/naming/display_name.h"
#include "analysis/naming/spelling.h"

namespace geiger::naming {
namespace {

using Indexes = std::vector<std::size_t>;

/// Names with more and more of what was left out; each alone before all together.
constexpr std::array<Detail, 4> kDetails{
    {{true, false, false}, {false, true, false}, {false, false, true}, {true, true, true}}};
constexpr std::size_t kForms = kDetails.size() + 2;  // Whole names, and with their module.

std::string in_form(const Named& function, std::size_t form) {
  if (form < kDetails.size()) return spelled(function.demangled, kDetails[form]);
  std::string whole(function.demangled);
  if (form > kDetails.size() && !function.module.empty()) {
    whole = spelled(function.demangled, {});
    whole += " [";
    whole += function.module;
    whole += "]";
  }
  return whole;
}

std::string fitted(std::string_view name, const Named& function) {
  return function.columns == 0 ? std::string(name) : fit_name(name, function.columns);
}

bool is_same(const Named& a, const Named& b) {
  return a.demangled == b.demangled && a.module == b.module;
}

/// Those that share their text with another function, by text.
std::vector<Indexes> look_alikes(std::span<const Named> functions,
                                 const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, Indexes> by_text;
  for (std::size_t i = 0; i < names.size(); ++i) by_text[names[i]].push_back(i);
  std::vector<Indexes> groups;
  for (auto& [text, group] : by_text) {
    const bool is_one = std::ranges::all_of(
        group, [&](std::size_t i) { return is_same(functions[i], functions[group.front()]); });
    if (!is_one) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::vector<std::string> distinct_names(std::span<const Named> functions) {
  std::vector<std::string> names;
  names.reserve(functions.size());
  for (const Named& function : functions) {
    names.push_back(fitted(display_name(function.demangled), function));
  }
  for (std::size_t form = 0; form < kForms; ++form) {
    const std::vector<Indexes> groups = look_alikes(functions, names);
    if (groups.empty()) break;
    for (const Indexes& group : groups) {
      for (const std::size_t i : group)
        names[i] = fitted(in_form(functions[i], form), functions[i]);
    }
  }
  return names;
}

}  // namespace geiger::naming
