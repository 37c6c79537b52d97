#include "analysis/naming/display_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/naming/path.h"
#include "analysis/naming/spelling.h"
#include "base/utf8.h"

namespace geiger::naming {

// Fits names into few columns: which of their parts give way first.

enum class GivesWay : std::uint8_t {
  kArguments,   ///< Template arguments, then namespaces, then parameters.
  kNamespaces,  ///< Namespaces, then the lists.
};

/// As fit_name(), dropping parts in the order of `first`.
[[nodiscard]] std::string fitted(std::string_view display, std::size_t columns, GivesWay first);

std::string display_name(std::string_view demangled) { return spelled(demangled, {}); }

namespace {

using Kind = Component::Kind;

bool is_balanced(std::string_view text) {
  const Brackets brackets(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_opener = text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{';
    if (!is_opener) continue;
    const std::size_t close = brackets.closing(i);
    if (close == kNone) return false;
    i = close;
  }
  return text.empty() || text.find_first_of(">)]}") == std::string_view::npos ||
         std::ranges::count(text, '<') == std::ranges::count(text, '>');
}

/// The middle of a list gone; at least "…".
std::string shortened_list(std::string_view list, std::size_t columns) {
  if (columns_of(list) <= columns) return std::string(list);
  if (columns < 4) return "…";
  std::string middle = elide(list, columns);
  // What was folded to an ellipsis before may lie beside the new one.
  constexpr std::string_view kTwice = "……";
  for (std::size_t at; (at = middle.find(kTwice)) != std::string::npos;) {
    middle.erase(at, kTwice.size() / 2);
  }
  return is_balanced(middle) ? middle : std::string("…");
}

/// A name in pieces: what may be shortened, and what lies between.
class Pieces {
 public:
  explicit Pieces(std::string_view name) : text_(name), function_(parse_function(text_)) {
    const auto& components = function_.path.components;
    if (components.empty()) return;
    for (const Component& component : components) {
      const bool is_impl = component.kind == Kind::kImpl;
      begins_.push_back(is_impl ? component.name.begin - 1 : component.name.begin);
      lists_.push_back(is_impl ? component.name : component.arguments);
    }
    own_ = components.size() - 1;
    if (own_ > 0 && components[own_].kind == Kind::kLambda) --own_;
    end_ = function_.has_parameters ? function_.parameters.begin - 1 : name.size();
  }

  [[nodiscard]] bool is_foreign() const { return begins_.empty(); }
  [[nodiscard]] std::size_t own() const { return own_; }

  [[nodiscard]] std::size_t columns_from(std::size_t k) const {
    return columns_of(text_.text().substr(begins_[k]));
  }

  /// What the template arguments from component `k` on can save, and the parameters.
  [[nodiscard]] std::size_t saved_by_arguments(std::size_t k) const {
    std::size_t columns = 0;
    for (std::size_t i = k; i < lists_.size(); ++i) columns += saved(lists_[i]);
    return columns;
  }
  [[nodiscard]] std::size_t saved_by_parameters() const { return saved(function_.parameters); }

  /// From component `k` on in `columns`: template arguments give way, then parameters.
  [[nodiscard]] std::string from(std::size_t k, std::size_t columns) const {
    const std::string_view name = text_.text();
    std::size_t excess = columns_of(name.substr(begins_[k]));
    excess = excess > columns ? excess - columns : 0;
    std::string out;
    std::size_t at = begins_[k];
    std::vector<Span> lists(lists_.begin() + static_cast<std::ptrdiff_t>(k), lists_.end());
    if (function_.has_parameters) lists.push_back(function_.parameters);
    for (const Span& list : lists) {
      if (list.is_empty() || excess == 0) continue;
      const std::string_view whole = text_.part(list.begin, list.end);
      const std::size_t width = columns_of(whole);
      const std::string shorter = shortened_list(whole, width > excess ? width - excess : 1);
      excess -= std::min(excess, width - columns_of(shorter));
      out += text_.part(at, list.begin);
      out += shorter;
      at = list.end;
    }
    return out += name.substr(at);
  }

  /// The function's own name without lists, with `qualifiers` components before it.
  [[nodiscard]] std::string bare(std::size_t qualifiers = 0) const {
    std::string out;
    for (std::size_t k = own_ - std::min(own_, qualifiers); k < lists_.size(); ++k) {
      const std::size_t next = k + 1 < begins_.size() ? begins_[k + 1] : end_;
      const bool has_list =
          !lists_[k].is_empty() && function_.path.components[k].kind != Kind::kImpl;
      out += text_.part(begins_[k], has_list ? lists_[k].begin - 1 : next);
      if (has_list) out += text_.part(lists_[k].end + 1, next);
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t saved(const Span& list) const {
    const std::size_t columns = columns_of(text_.part(list.begin, list.end));
    return columns > 1 ? columns - 1 : 0;
  }

  Brackets text_;
  Function function_;
  std::vector<std::size_t> begins_;
  std::vector<Span> lists_;
  std::size_t own_ = 0, end_ = 0;
};

/// With as many of the namespaces as fit if the lists save so much.
std::string from_fitting(const Pieces& pieces, std::size_t columns, bool saves_arguments,
                         bool saves_parameters) {
  for (std::size_t k = 0; k <= pieces.own(); ++k) {
    const std::size_t mark = k > 0 ? 1 : 0;
    const std::size_t saved = (saves_arguments ? pieces.saved_by_arguments(k) : 0) +
                              (saves_parameters ? pieces.saved_by_parameters() : 0);
    if (pieces.columns_from(k) - saved + mark > columns) continue;
    return (k > 0 ? "…" : "") + pieces.from(k, columns - mark);
  }
  return {};
}

}  // namespace

std::string fitted(std::string_view display, std::size_t columns, GivesWay first) {
  if (columns_of(display) <= columns) return std::string(display);
  const Pieces pieces(display);
  if (pieces.is_foreign()) return elide(display, columns);
  std::string out;
  if (first == GivesWay::kNamespaces) out = from_fitting(pieces, columns, false, false);
  if (out.empty()) out = from_fitting(pieces, columns, true, false);
  if (out.empty()) out = from_fitting(pieces, columns, true, true);
  if (!out.empty()) return out;
  std::string own = pieces.bare();
  if (columns_of(own) + 1 <= columns) return "…" + own;
  return elide(own, columns);
}

bool is_function_name(std::string_view display) { return !Pieces(display).is_foreign(); }

std::size_t least_columns(std::string_view display) {
  const Pieces pieces(display);
  if (pieces.is_foreign()) return columns_of(display);
  const std::size_t own = columns_of(pieces.bare());
  return own < columns_of(display) ? own + 1 : own;
}

std::size_t telling_columns(std::string_view display) {
  const Pieces pieces(display);
  if (pieces.is_foreign()) return columns_of(display);
  const std::size_t telling = columns_of(pieces.bare(1));
  return telling < columns_of(display) ? telling + 1 : telling;
}

std::string fit_name(std::string_view display, std::size_t columns) {
  return fitted(display, columns, GivesWay::kArguments);
}

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

namespace {

struct Range {
  char32_t first, last;
};

/// Shown two columns wide by terminals (East Asian wide, emoji).
constexpr std::array<Range, 8> kWide{{{0x1100, 0x115f},
                                      {0x2e80, 0xa4cf},
                                      {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff},
                                      {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},
                                      {0x1f300, 0x1faff},
                                      {0x20000, 0x3fffd}}};

/// Drawn over the character before them.
constexpr std::array<Range, 4> kCombining{
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, char32_t value) {
  return std::ranges::any_of(
      ranges, [&](const Range& range) { return value >= range.first && value <= range.last; });
}

std::size_t width_of(char32_t value) {
  if (is_in(kCombining, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    columns += width_of(point.value);
    text.remove_prefix(point.length);
  }
  return columns;
}

std::size_t prefix_within(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    const CodePoint point = decode_utf8(text.substr(at));
    used += width_of(point.value);
    if (used > columns) break;
    at += point.length;
  }
  return at;
}

std::size_t suffix_within(std::string_view text, std::size_t columns) {
  std::size_t skip = columns_of(text);
  std::size_t at = 0;
  while (at < text.size() && skip > columns) {
    const CodePoint point = decode_utf8(text.substr(at));
    skip -= width_of(point.value);
    at += point.length;
  }
  return at;
}

std::string elide(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t tail = (columns - 1) / 2;
  const std::size_t head = columns - 1 - tail;
  std::string out(text.substr(0, prefix_within(text, head)));
  out += "…";
  return out += text.substr(suffix_within(text, tail));
}

}  // namespace geiger::naming
