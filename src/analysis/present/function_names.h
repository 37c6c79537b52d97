// Functions as reports name them: short for people, both ways in JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/grid.h"
#include "analysis/present/style.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/lives/lifetimes.h"

namespace geiger::present {

/// At most `columns` wide unless full names are requested.
[[nodiscard]] std::string function_text(std::string_view function, std::size_t columns,
                                        const Style& style);

/// Columns for a distinct name with its last two components whole; very long ones need no more than
/// others.
[[nodiscard]] std::size_t columns_needed(std::string_view function);

/// "a < b < c", each shown like a function.
[[nodiscard]] std::string callers_text(std::string_view callers, const Style& style);

/// Whether the rows of such a table are named by functions, or by types, which read alike.
[[nodiscard]] bool is_named_by_functions(profile::GroupBy by);

/// Of rows by lifetime: as which rows of a table they are named.
[[nodiscard]] profile::GroupBy named_like(profile::LifetimeGrouping by);

/// A cell of the column "where": the line, or the module of a function whose line is unknown, so
/// that the column is filled for every row.
[[nodiscard]] std::string where_cell(const profile::SourceLine& where, std::string_view detail,
                                     profile::GroupBy by);

/// A line whose cell to cut is `name` and whose tail is `detail`, as rows of `by` have them; where
/// the last cell says that already there is no tail, where it could say `where` that is the tail.
void add_row(Grid& grid, std::vector<std::string> cells, std::string_view name,
             std::string_view detail, profile::GroupBy by, const Style& style,
             bool is_faint = false, const profile::SourceLine& where = {});

/// A name as documents have it, inlined: "name", whole, and of functions and types "short_name".
struct Named {
  std::string_view name;
  bool is_function = true;
};
[[nodiscard]] const Fields<Named>& fields_of(Of<Named> /*type*/);

}  // namespace geiger::present
