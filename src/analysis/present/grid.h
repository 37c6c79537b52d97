// Lays cells out as aligned lines: two spaces between columns, headings on top. One column, the
// last unless another is named, is cut to what is left of the width. A faint tail may follow; it is
// cut first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/style.h"

namespace geiger::present {

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

}  // namespace geiger::present
