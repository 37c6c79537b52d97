#include "analysis/present/grid.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/text.h"

namespace geiger::present {

namespace {

/// The column that is cut never gets less than this, however narrow the terminal.
constexpr std::size_t kLeastCut = 16;

/// Of tails on lines of their own, less the gap before them.
constexpr std::size_t kIndentBelow = 4;
/// Columns kept for " #12", which distinguishes stacks whose callers look the same.
constexpr std::size_t kNumberOfStack = 4;
constexpr std::size_t kGapBeforeTail = 2;

std::size_t gap_before(const Column& column) { return column.is_continuation ? 1 : 2; }

std::string aligned(const std::string& cell, Align align, std::size_t width) {
  return align == Align::kRight ? pad_left(cell, width) : pad_right(cell, width);
}

/// The key of lines that must be distinguished: all cells except figures are the same.
std::string cell_texts(const std::vector<std::string>& cells, std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < cells.size(); ++i) out += cells[i] + '\n';
  return out;
}

/// Not with what the function called, nor with a number.
bool begins_with_caller(std::string_view tail) {
  return !tail.starts_with("›") && !tail.starts_with('#');
}

void strip_trailing_spaces(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

Grid::Grid(std::vector<Column> columns, std::size_t indent)
    : columns_(std::move(columns)), cut_(columns_.size() - 1), indent_(indent) {
  const auto named = std::ranges::find_if(columns_, &Column::is_cut);
  if (named != columns_.end()) cut_ = static_cast<std::size_t>(named - columns_.begin());
  for (const Column& column : columns_) widths_.push_back(columns_of(column.heading));
}

void Grid::add(std::vector<std::string> cells, std::string tail, bool is_faint) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths_[i] = std::max(widths_[i], columns_of(cells[i]));
  }
  lines_.push_back({std::move(cells), std::move(tail), is_faint});
}

std::size_t Grid::used_beside(std::size_t column) const {
  std::size_t used = indent_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) used += gap_before(columns_[i]);
    if (i != column) used += widths_[i];
  }
  return used;
}

std::size_t Grid::room_for_cut(std::size_t width) const {
  const std::size_t used = used_beside(cut_);
  return width > used + kLeastCut ? width - used : kLeastCut;
}

std::size_t Grid::room_for_last(std::size_t width) const {
  return width - std::min(width, used_beside(columns_.size() - 1));
}

bool Grid::has_room_for_names(const Style& style) const {
  if (style.names == Names::kFull) return true;
  const std::size_t room = room_for_cut(style.width);
  return room > kLeastCut && std::ranges::all_of(lines_, [&](const Line& line) {
           return !is_function(line) || columns_needed(line.cells[cut_]) <= room;
         });
}

std::size_t Grid::room_beside_place(const Line& line, std::size_t room) const {
  if (cut_ + 1 != columns_.size() || !is_function(line) || !is_place(line.tail)) return room;
  const std::size_t used = kGapBeforeTail + columns_of(line.tail);
  return columns_needed(line.cells[cut_]) + used <= room ? room - used : room;
}

bool Grid::has_room_for_places(const Style& style) const {
  const std::size_t room = room_for_cut(style.width);
  return std::ranges::all_of(lines_, [&](const Line& line) {
    return !is_function(line) || !is_place(line.tail) || room_beside_place(line, room) < room;
  });
}

bool Grid::is_function(const Line& line) const {
  return line.is_named && naming::is_function_name(naming::display_name(line.cells[cut_]));
}

void Grid::name(std::string_view function, std::string_view module, std::uint32_t source_line) {
  Line& line = lines_.back();
  line.cells[cut_] = printable(function);
  line.is_named = true;
  line.module = printable(module);
  line.source_line = source_line;
}

void Grid::append_callers(std::string callers, bool is_context) {
  lines_.back().tail = std::move(callers);
  lines_.back().has_callers = true;
  lines_.back().is_context = is_context;
}

std::vector<std::string> Grid::cut_cells(std::size_t room, const Style& style) const {
  const bool is_short = style.names == Names::kShort;
  std::vector<naming::Named> functions;
  for (const Line& line : lines_) {
    if (!line.is_named) continue;
    const std::size_t own = room_beside_place(line, room);
    functions.push_back({line.cells[cut_], line.module, own, line.source_line});
  }
  const std::vector<std::string> names =
      is_short ? naming::distinct_names(functions) : std::vector<std::string>();
  std::vector<std::string> cells;
  std::size_t named = 0;
  for (const Line& line : lines_) {
    const std::string& cell = line.cells[cut_];
    if (!line.is_named) {
      cells.push_back(line.is_whole ? cell : elide(cell, room));
    } else {
      cells.push_back(is_short ? names[named++] : cell);
    }
  }
  return cells;
}

std::string Grid::drawn(const Line& line, std::string_view cut, std::size_t width) const {
  std::string out(indent_, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) out.append(gap_before(columns_[i]), ' ');
    const bool is_last = i + 1 == columns_.size();
    const bool is_padded = !is_last || columns_[i].align == Align::kRight;
    const bool is_cut = i == cut_;
    const std::string cell = is_cut ? std::string(cut) : line.cells[i];
    out += is_padded ? aligned(cell, columns_[i].align, is_cut ? width : widths_[i]) : cell;
  }
  strip_trailing_spaces(out);
  return out;
}

bool Grid::are_callers_below(const std::vector<std::string>& drawn, const Style& style) const {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    if (!line.has_callers || line.tail.empty()) continue;
    const std::size_t used = columns_of(drawn[i]) + kNumberOfStack;
    const std::size_t whole = used + kGapBeforeTail + columns_of(line.tail);
    if (line.is_context ? whole > style.width : tail_within(line.tail, style.width, used).empty()) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> Grid::callers_behind(const std::vector<std::string>& drawn, bool is_below,
                                              const Style& style) const {
  std::vector<std::string> tails(lines_.size());
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    if (!line.has_callers) continue;
    const std::string_view mark = is_below && begins_with_caller(line.tail) ? "< " : "";
    const std::size_t used = is_below ? kIndentBelow + mark.size() : columns_of(drawn[i]);
    tails[i] = tail_within(line.tail, style.width, used + kNumberOfStack);
    if (!tails[i].empty()) tails[i].insert(kGapBeforeTail, mark);
    alike[cell_texts(line.cells, cut_) + tails[i]].push_back(i);
  }
  for (const auto& [text, lines] : alike) {
    if (lines.size() < 2) continue;
    for (std::size_t n = 0; n < lines.size(); ++n) {
      std::string& tail = tails[lines[n]];
      tail += (tail.empty() ? "  #" : " #") + std::to_string(n + 1);
    }
  }
  return tails;
}

std::vector<std::string> Grid::headings() const {
  std::vector<std::string> cells;
  for (const Column& column : columns_) cells.push_back(column.heading);
  return cells;
}

std::string Grid::text(const Style& style) const {
  const std::size_t room = room_for_cut(style.width);
  const bool has_headings = std::any_of(columns_.begin(), columns_.end(),
                                        [](const Column& c) { return !c.heading.empty(); });
  std::string out;
  const std::vector<std::string> cut = cut_cells(room, style);
  const std::string heading = elide(columns_[cut_].heading, room);
  std::size_t width = columns_of(heading);
  for (const std::string& cell : cut) width = std::max(width, columns_of(cell));
  if (has_headings) {
    out += paint(style, Role::kFaint, drawn({headings(), "", false}, heading, width)) + "\n";
  }
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < lines_.size(); ++i) shown.push_back(drawn(lines_[i], cut[i], width));
  const bool is_below = are_callers_below(shown, style);
  const std::vector<std::string> callers = callers_behind(shown, is_below, style);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    std::string tail =
        line.has_callers ? callers[i] : tail_within(line.tail, style.width, columns_of(shown[i]));
    // A place is never left out.
    const bool is_place_below = tail.empty() && is_place(line.tail);
    if (is_place_below) tail = std::string(kGapBeforeTail, ' ') + line.tail;
    const bool has_own_line = is_place_below || (is_below && line.has_callers);
    out += line.is_faint ? paint(style, Role::kFaint, shown[i]) : shown[i];
    if (has_own_line && !tail.empty()) out += "\n" + std::string(kIndentBelow, ' ');
    out += (tail.empty() ? "" : paint(style, Role::kFaint, tail)) + "\n";
  }
  return out;
}

void append_figure_columns(std::vector<Column>& columns, const char* heading) {
  columns.push_back({heading, Align::kRight, false});
  columns.push_back({"", Align::kLeft, true});
}

void append_figure(std::vector<std::string>& cells, const Figure& figure) {
  cells.push_back(figure.value);
  cells.push_back(figure.error);
}

}  // namespace geiger::present
