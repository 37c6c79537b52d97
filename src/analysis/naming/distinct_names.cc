#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analysis/naming/brackets.h"
#include "analysis/naming/columns.h"
#include "analysis/naming/display_name.h"
#include "analysis/naming/fitting.h"
#include "analysis/naming/path.h"
#include "analysis/naming/spelling.h"

namespace geiger::naming {
namespace {

using Indexes = std::vector<std::size_t>;

/// The parts that are brought back: the first that distinguish the names.
enum class Form : std::uint8_t {
  kLine,    ///< Of a lambda.
  kNumber,  ///< Of a lambda, also among the template arguments.
  kParameters,
  kArguments,
  kNamespaces,
  kAll,
  kWhole,
  kModule,
};
constexpr std::array<Form, 8> kForms{Form::kLine,      Form::kNumber,     Form::kParameters,
                                     Form::kArguments, Form::kNamespaces, Form::kAll,
                                     Form::kWhole,     Form::kModule};

bool is_same(const Named& a, const Named& b) {
  return a.demangled == b.demangled && a.module == b.module;
}

std::string in_form(const Named& function, Form form) {
  switch (form) {
    case Form::kLine:
      return spelled(function.demangled, {.lambda_line = function.line});
    case Form::kNumber:
      return spelled(function.demangled, {.lambda_numbers = true});
    case Form::kParameters:
      return spelled(function.demangled, {.parameters = true, .lambda_numbers = true});
    case Form::kArguments:
      return spelled(function.demangled, {.lambda_numbers = true, .all_arguments = true});
    case Form::kNamespaces:
      return spelled(function.demangled, {.all_namespaces = true});
    case Form::kAll:
      return spelled(function.demangled, {.parameters = true,
                                          .lambda_numbers = true,
                                          .all_arguments = true,
                                          .all_namespaces = true});
    case Form::kWhole:
      return std::string(function.demangled);
    case Form::kModule:
      break;
  }
  return display_name(function.demangled);
}

/// A name taken apart into its lists and what is between them.
struct Lists {
  std::vector<std::string> between;  ///< One more than lists.
  std::vector<std::vector<std::string>> lists;
};

std::vector<std::string> split(const Brackets& text, Span list) {
  std::vector<std::string> parts;
  std::size_t begin = list.begin;
  for (std::size_t i = list.begin; i < list.end; ++i) {
    const std::size_t close = text.closing(i, list.end);
    if (close != kNone) {
      i = close;
    } else if (text.has(i, ", ")) {
      parts.emplace_back(text.part(begin, i));
      begin = i + 2;
    }
  }
  parts.emplace_back(text.part(begin, list.end));
  return parts;
}

Lists lists_of(std::string_view name) {
  const Brackets text(name);
  const Function function = parse_function(text);
  std::vector<Span> spans;
  for (const Component& component : function.path.components) {
    if (!component.arguments.is_empty()) spans.push_back(component.arguments);
  }
  if (!function.parameters.is_empty()) spans.push_back(function.parameters);
  Lists out;
  std::size_t at = 0;
  for (const Span& span : spans) {
    out.between.emplace_back(text.part(at, span.begin));
    out.lists.push_back(split(text, span));
    at = span.end;
  }
  out.between.emplace_back(name.substr(at));
  return out;
}

/// Whether the lists of all are of the same lengths, so that equal places mean equal things.
bool are_alike(const std::vector<Lists>& all) {
  return std::ranges::all_of(all, [&](const Lists& one) {
    return std::ranges::equal(one.lists, all.front().lists, {}, &std::vector<std::string>::size,
                              &std::vector<std::string>::size);
  });
}

/// `list` with "…" for what `is_common`.
std::string joined(const std::vector<std::string>& list, const std::vector<bool>& is_common) {
  std::string out;
  bool was_common = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_common[i] && was_common) continue;
    if (i > 0) out += ", ";
    out += is_common[i] ? std::string("…") : list[i];
    was_common = is_common[i];
  }
  return out;
}

/// Leaves in the lists of `names` only the parts that distinguish them.
void leave_out_common(std::vector<std::string>& names) {
  std::vector<Lists> all;
  for (const std::string& name : names) all.push_back(lists_of(name));
  if (!are_alike(all)) return;
  for (std::string& name : names) name.clear();
  for (std::size_t list = 0; list < all.front().lists.size(); ++list) {
    std::vector<bool> is_common;
    for (std::size_t i = 0; i < all.front().lists[list].size(); ++i) {
      is_common.push_back(std::ranges::all_of(
          all, [&](const Lists& one) { return one.lists[list][i] == all.front().lists[list][i]; }));
    }
    for (std::size_t n = 0; n < names.size(); ++n) {
      names[n] += all[n].between[list] + joined(all[n].lists[list], is_common);
    }
  }
  for (std::size_t n = 0; n < names.size(); ++n) names[n] += all[n].between.back();
}

std::string fitted_form(const std::string& name, const Named& function, Form form) {
  const std::size_t room = function.columns;
  if (form == Form::kModule && !function.module.empty()) {
    const std::string module = " [" + std::string(function.module) + "]";
    const std::size_t used = columns_of(module);
    if (room == 0) return name + module;
    if (used + least_columns(name) <= room) return fit_name(name, room - used) + module;
  }
  if (room == 0) return name;
  return fitted(name, room,
                form == Form::kParameters ? GivesWay::kArguments : GivesWay::kNamespaces);
}

/// Groups of functions that share one text, in the order of their first functions.
std::vector<Indexes> look_alikes(std::span<const Named> functions,
                                 const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> known;
  std::vector<Indexes> groups;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [at, is_new] = known.emplace(names[i], groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  std::erase_if(groups, [&](const Indexes& group) {
    return std::ranges::all_of(
        group, [&](std::size_t i) { return is_same(functions[i], functions[group.front()]); });
  });
  return groups;
}

void apply(Form form, const Indexes& group, std::span<const Named> functions,
           std::vector<std::string>& names) {
  std::vector<std::string> longer;
  for (const std::size_t i : group) longer.push_back(in_form(functions[i], form));
  if (form == Form::kParameters || form == Form::kArguments) leave_out_common(longer);
  for (std::size_t n = 0; n < group.size(); ++n) {
    names[group[n]] = fitted_form(longer[n], functions[group[n]], form);
  }
}

/// The last resort, at widths that hold nothing that differs: "open #2".
void number(const Indexes& group, std::span<const Named> functions,
            std::unordered_set<std::string>& taken, std::vector<std::string>& names) {
  Indexes order = group;
  const auto key = [&](std::size_t i) {
    return std::tie(functions[i].demangled, functions[i].module);
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::size_t count = 0;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const Named& function = functions[order[n]];
    const bool is_again = n > 0 && is_same(function, functions[order[n - 1]]);
    std::string name;
    do {
      count += is_again ? 0 : 1;
      const std::string mark = " #" + std::to_string(std::max<std::size_t>(count, 1));
      const std::string shorter = display_name(function.demangled);
      const std::size_t room = function.columns;
      name = (room == 0            ? shorter
              : room > mark.size() ? fit_name(shorter, room - mark.size())
                                   : std::string()) +
             mark;
    } while (!is_again && !taken.insert(name).second);
    names[order[n]] = name;
  }
}

}  // namespace

std::vector<std::string> distinct_names(std::span<const Named> functions) {
  std::vector<std::string> names;
  names.reserve(functions.size());
  for (const Named& function : functions) {
    const std::string name = display_name(function.demangled);
    names.push_back(function.columns == 0 ? name : fit_name(name, function.columns));
  }
  for (const Form form : kForms) {
    const std::vector<Indexes> groups = look_alikes(functions, names);
    if (groups.empty()) return names;
    for (const Indexes& group : groups) apply(form, group, functions, names);
  }
  std::unordered_set<std::string> taken(names.begin(), names.end());
  for (const Indexes& group : look_alikes(functions, names)) {
    number(group, functions, taken, names);
  }
  return names;
}

}  // namespace geiger::naming
