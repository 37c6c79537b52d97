// Tables of text, drawn from the fields of their rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/grid.h"
#include "analysis/present/style.h"

namespace geiger::present {

/// What a column of a table is called, and what it means.
struct ColumnWords {
  std::string_view name;
  std::string heading;
  std::string_view meaning;
};
[[nodiscard]] const Fields<ColumnWords>& fields_of(Of<ColumnWords> /*type*/);

/// The columns that have a name, of tables as that of `first`.
template <typename T>
[[nodiscard]] std::vector<ColumnWords> words_of_columns(const T& first) {
  std::vector<ColumnWords> words;
  for (const Field<T>& field : fields_of(Of<T>{}).all()) {
    if (!field.column || field.name.empty() || field.column->rank(first) < 0) continue;
    words.push_back({field.name, field.column->heading(first), field.meaning});
  }
  return words;
}

/// The columns with one of these ranks; what is behind all numbers last.
template <typename T>
[[nodiscard]] std::vector<const TextColumn<T>*> columns_of(const std::set<int>& ranks,
                                                           const T& first) {
  std::vector<const TextColumn<T>*> columns;
  for (const bool is_behind : {false, true}) {
    for (const Field<T>& field : fields_of(Of<T>{}).all()) {
      if (!field.column || (field.column->form >= Cells::kText) != is_behind) continue;
      if (ranks.contains(field.column->rank(first))) columns.push_back(&*field.column);
    }
  }
  return columns;
}

/// One line per row; `add` adds its cells to the grid.
template <typename T, typename Add>
[[nodiscard]] Grid grid_of(const std::vector<T>& rows,
                           const std::vector<const TextColumn<T>*>& columns, const Add& add) {
  std::vector<Column> drawn;
  for (const TextColumn<T>* column : columns) {
    const std::string heading = column->heading(rows.front());
    if (column->form == Cells::kFigure) {
      append_figure_columns(drawn, heading.c_str());
    } else {
      const bool is_left = column->form >= Cells::kText || heading.empty();
      drawn.push_back(
          {heading, is_left ? Align::kLeft : Align::kRight, false, column->form == Cells::kName});
    }
  }
  Grid grid(std::move(drawn));
  for (const T& row : rows) {
    std::vector<std::string> cells;
    for (const TextColumn<T>* column : columns) {
      Figure figure = column->cell(row);
      cells.push_back(std::move(figure.value));
      if (column->form == Cells::kFigure) cells.push_back(std::move(figure.error));
    }
    add(grid, std::move(cells), row);
  }
  return grid;
}

/// Columns that names have in a table with all of its figures, and in one that leaves some out.
inline constexpr std::size_t kRoomBesideAll = 36;
inline constexpr std::size_t kRoomBesideSome = 20;
/// The former where names are less important than in a table.
inline constexpr std::size_t kLittleRoomBesideAll = 24;

/// A table of at least one row with the columns that leave room for its names, `room` if these are
/// all. The highest ranks go first; where one that goes leaves room for others that went, these
/// return, unless what tells rows apart would need lines of its own.
template <typename T, typename Add>
[[nodiscard]] Grid fitting_grid(const std::vector<T>& rows, const Style& style, const Add& add,
                                std::size_t room = kRoomBesideAll) {
  std::set<int> ranks;
  for (const Field<T>& field : fields_of(Of<T>{}).all()) {
    if (field.column) ranks.insert(field.column->rank(rows.front()));
  }
  ranks.erase(ranks.begin(), ranks.lower_bound(0));
  const auto drawn = [&](const std::set<int>& shown) {
    return grid_of(rows, columns_of(shown, rows.front()), add);
  };
  const auto fits = [&](const Grid& grid, std::size_t least) {
    return grid.room_for_cut(style.width) >= least && grid.has_room_for_names(style);
  };
  const auto lines_of = [&](const Grid& grid) {
    return std::ranges::count(grid.text(style), '\n');
  };
  Grid all = drawn(ranks);
  if (fits(all, room)) return all;
  std::set<int> shown{0};
  Grid grid = drawn(shown);
  bool has_gone = false;
  for (const int rank : ranks) {
    std::set<int> more = shown;
    more.insert(rank);
    Grid wider = drawn(more);
    const bool has_room = more != ranks && fits(wider, kRoomBesideSome) &&
                          (!has_gone || lines_of(wider) <= lines_of(grid));
    has_gone |= !has_room;
    if (!has_room) continue;
    shown = std::move(more);
    grid = std::move(wider);
  }
  return grid;
}

}  // namespace geiger::present
