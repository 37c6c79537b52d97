// Tables of text, drawn from the fields of their rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/grid.h"
#include "analysis/present/style.h"

namespace geiger::present {

/// The columns that are there and whose rank is below `limit`; what is behind all numbers last.
template <typename T>
[[nodiscard]] std::vector<const TextColumn<T>*> columns_below(int limit, const T& first) {
  std::vector<const TextColumn<T>*> columns;
  for (const bool is_behind : {false, true}) {
    for (const Field<T>& field : fields_of(Of<T>{}).all()) {
      if (!field.column || (field.column->form >= Cells::kText) != is_behind) continue;
      const int rank = field.column->rank(first);
      if (rank >= 0 && rank < limit) columns.push_back(&*field.column);
    }
  }
  return columns;
}

/// One line per row; `add` adds its cells to the grid.
template <typename T, typename Add>
[[nodiscard]] Grid grid_of(const std::vector<T>& rows, const std::vector<const TextColumn<T>*>& columns,
                           const Add& add) {
  std::vector<Column> drawn;
  for (const TextColumn<T>* column : columns) {
    const std::string heading = column->heading(rows.front());
    if (column->form == Cells::kFigure) {
      append_figure_columns(drawn, heading.c_str());
    } else {
      const bool is_left = column->form >= Cells::kText || heading.empty();
      drawn.push_back({heading, is_left ? Align::kLeft : Align::kRight, false,
                       column->form == Cells::kName});
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

/// A table of at least one row with as many columns as leave room for its names: those of the
/// highest rank go first.
template <typename T, typename Add>
[[nodiscard]] Grid fitting_grid(const std::vector<T>& rows, const Style& style, const Add& add) {
  int limit = std::numeric_limits<int>::max();
  std::size_t room = kRoomBesideAll;
  while (true) {
    Grid grid = grid_of(rows, columns_below(limit, rows.front()), add);
    if (grid.room_for_cut(style.width) >= room && grid.has_room_for_names(style)) return grid;
    int highest = 0;
    for (const TextColumn<T>* column : columns_below(limit, rows.front())) {
      highest = std::max(highest, column->rank(rows.front()));
    }
    if (highest == 0) return grid;
    limit = highest;
    room = kRoomBesideSome;
  }
}

}  // namespace geiger::present
