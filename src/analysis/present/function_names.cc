#include "analysis/present/function_names.h"

#include <algorithm>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/text.h"
#include "base/path.h"

namespace geiger::present {

std::string function_text(std::string_view function, std::size_t columns, const Style& style) {
  const std::string shown = printable(function);
  if (style.names == Names::kFull) return shown;
  return naming::fit_name(naming::display_name(shown), columns);
}

std::size_t columns_needed(std::string_view function) {
  constexpr std::size_t kMost = 40;
  constexpr std::size_t kNumber = 3;  // " #2"
  constexpr std::size_t kLine = 5;    // ":1234"
  const std::string name = naming::display_name(printable(function));
  const bool is_lambda = name.ends_with("{lambda}") || name.ends_with("{closure}");
  return std::min(naming::telling_columns(name) + (is_lambda ? kLine : kNumber), kMost);
}

std::string callers_text(std::string_view callers, const Style& style) {
  constexpr std::string_view kBetween = " < ";
  if (style.names == Names::kFull) return printable(callers);
  std::string out;
  while (!callers.empty()) {
    const std::size_t end = std::min(callers.find(kBetween), callers.size());
    out += naming::display_name(printable(callers.substr(0, end)));
    callers.remove_prefix(end);
    if (!callers.starts_with(kBetween)) continue;
    callers.remove_prefix(kBetween.size());
    out += kBetween;
  }
  return out;
}

bool is_named_by_functions(profile::GroupBy by) {
  return by == profile::GroupBy::kFunction || by == profile::GroupBy::kLine ||
         by == profile::GroupBy::kStack || by == profile::GroupBy::kType;
}

profile::GroupBy named_like(profile::LifetimeGrouping by) {
  switch (by) {
    case profile::LifetimeGrouping::kFunction:
      return profile::GroupBy::kFunction;
    case profile::LifetimeGrouping::kStack:
    case profile::LifetimeGrouping::kFreeStack:
      return profile::GroupBy::kStack;
    case profile::LifetimeGrouping::kWhole:
    case profile::LifetimeGrouping::kThread:
    case profile::LifetimeGrouping::kSize:
      break;
  }
  return profile::GroupBy::kThread;
}

std::string where_cell(const profile::SourceLine& where, std::string_view detail,
                       profile::GroupBy by) {
  constexpr std::size_t kMostOfModule = 24;
  const bool has_module = is_named_by_functions(by) && by != profile::GroupBy::kStack;
  if (!where.file.empty() || !has_module) return printable(text_of(where));
  return elide(printable(detail), kMostOfModule);
}

void add_row(Grid& grid, std::vector<std::string> cells, std::string_view name,
             std::string_view detail, profile::GroupBy by, const Style& style, bool is_faint,
             const profile::SourceLine& where) {
  const bool is_stack = by == profile::GroupBy::kStack;
  std::string tail = is_stack ? std::string() : printable(detail);
  const std::string place = printable(text_of(where));
  if (!is_stack && !place.empty() && cells.back() != place) tail = place;
  // A function of Python has its file for a module, which the place says too.
  const bool is_told = !where.file.empty() && base::place_name_of(where.file) == detail;
  if (cells.back() == tail || (is_told && cells.back() == place)) tail.clear();
  grid.add(std::move(cells), std::move(tail), is_faint);
  if (is_named_by_functions(by)) grid.name(name, is_stack ? "" : detail, where.line);
  if (is_stack) grid.append_callers(callers_text(detail, style));
}

const Fields<Named>& fields_of(Of<Named> /*type*/) {
  static const auto kFields =
      Fields<Named>()
          .field("name", "as demangled", &Named::name)
          .field("short_name",
                 "without arguments, `std::` and the like, as the text shows it; of functions and "
                 "types",
                 [](const Named& it) {
                   return it.is_function ? std::optional(naming::display_name(it.name))
                                         : std::nullopt;
                 });
  return kFields;
}

}  // namespace geiger::present
