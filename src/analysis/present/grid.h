// Tables of text: cells laid out as aligned lines, or drawn from the fields of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/text.h"

namespace geiger::present {

// Lays cells out as aligned lines: two spaces between columns, headings on top. One column, the
// last unless another is named, is cut to what is left of the width. A faint tail may follow; it is
// cut first.

enum class Align { kLeft, kRight };

struct Column {
  std::string heading;
  Align align = Align::kRight;
  /// Glued to the column before by one space ("812 MiB" "± 25").
  bool is_continuation = false;
  /// Cut to the room that all others leave, instead of the last column.
  bool is_cut = false;
};

class Grid {
 public:
  explicit Grid(std::vector<Column> columns, std::size_t indent = 0);

  /// Appends a line; `cells` has one cell per column. The last column must be
  /// aligned to the left if there are tails. A faint line matters less than others.
  void add(std::vector<std::string> cells, std::string tail = {}, bool is_faint = false);

  /// The cell that is cut, of the line added last, is a function: shown by a short name that fits
  /// and differs from those of other lines: `module` and the line of its source, 0 if unknown, may
  /// distinguish two of one name.
  void name(std::string_view function, std::string_view module, std::uint32_t source_line = 0);

  /// The tail of the line added last is of callers. Where one of such tails has no room for its
  /// first caller, or a context for all that distinguishes it, all go to lines of their own.
  void append_callers(std::string callers, bool is_context = false);

  /// The cell that is cut, of the line added last, is shown as it is.
  void keep_whole() { lines_.back().is_whole = true; }

  /// Columns left for the column that is cut in lines of `width`.
  [[nodiscard]] std::size_t room_for_cut(std::size_t width) const;
  /// Columns that the last column may take in lines of `width`: 0 where the others need all.
  [[nodiscard]] std::size_t room_for_last(std::size_t width) const;
  /// Whether lines are no wider than the terminal, and the last component of each function is
  /// whole. Very long ones do not count, nor do addresses without a name.
  [[nodiscard]] bool has_room_for_names(const Style& style) const;
  /// Whether there is room for a place after each function too, where that is the tail.
  [[nodiscard]] bool has_room_for_places(const Style& style) const;

  /// The lines, each ended by a newline; headings only if some column has one.
  [[nodiscard]] std::string text(const Style& style) const;

 private:
  struct Line {
    std::vector<std::string> cells;
    std::string tail;
    bool is_faint = false;
    bool is_named = false;     ///< Its cut cell is a function.
    bool is_whole = false;     ///< Its cut cell is not cut.
    bool has_callers = false;  ///< Its tail is of callers.
    bool is_context = false;   ///< They are what distinguishes it.
    std::string module = {};
    std::uint32_t source_line = 0;
  };

  /// Columns that all columns but one take, with the gaps between them.
  [[nodiscard]] std::size_t used_beside(std::size_t column) const;
  [[nodiscard]] bool is_function(const Line& line) const;
  /// The cells that are cut, as they are shown.
  [[nodiscard]] std::vector<std::string> cut_cells(std::size_t room, const Style& style) const;
  /// The room of its cut cell beside the place that follows.
  [[nodiscard]] std::size_t room_beside_place(const Line& line, std::size_t room) const;
  /// The cells, `cut` in place of the one that is cut.
  [[nodiscard]] std::string drawn(const Line& line, std::string_view cut, std::size_t width) const;
  /// The tails of callers as shown, each on a line of its own if `is_below`; empty for other lines.
  [[nodiscard]] std::vector<std::string> callers_behind(const std::vector<std::string>& drawn,
                                                        bool is_below, const Style& style) const;
  [[nodiscard]] bool are_callers_below(const std::vector<std::string>& drawn,
                                       const Style& style) const;
  [[nodiscard]] std::vector<std::string> headings() const;

  std::vector<Column> columns_;
  std::size_t cut_;  ///< Index of the column that is cut.
  std::vector<std::size_t> widths_;
  std::vector<Line> lines_;
  std::size_t indent_;
};

/// The two columns of a figure; the heading spans both.
void append_figure_columns(std::vector<Column>& columns, const char* heading);
/// The two cells of a figure.
void append_figure(std::vector<std::string>& cells, const Figure& figure);

// Tables of text, drawn from the fields of their rows.

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
