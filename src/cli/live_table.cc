#include "cli/live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "analysis/naming/display_name.h"
#include "analysis/report/format.h"
#include "analysis/report/function_names.h"
#include "analysis/report/text.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;
using report::Measure;
using report::TableLine;

constexpr std::size_t kMark = 2;   ///< Whether the order is open.
constexpr std::size_t kValue = 9;  ///< "1,023 MiB".
constexpr std::size_t kShare = 5;  ///< "100 %".
constexpr std::size_t kSamples = 8;
constexpr std::size_t kLeastName = 12;
constexpr std::size_t kTwoFigures = 110;  ///< From this width on, self and total.
constexpr std::size_t kLongBar = 20, kShortBar = 6;

/// A value and its error, the first of them right-aligned: " 2.19 MiB [1.52, 3.05]".
struct FigureWidth {
  std::size_t value = kValue, error = kValue;

  [[nodiscard]] std::size_t all() const { return value + error; }
};

/// One without an error may need the room of both: "316.5 KiB exact + < 237 KiB".
FigureWidth width_of(std::span<const report::Figure> figures) {
  FigureWidth width;
  for (const report::Figure& figure : figures) {
    const std::size_t value = report::columns_of(figure.value);
    const std::size_t behind = figure.error.empty() ? value + 1 - std::min(value + 1, width.value)
                                                    : report::columns_of(figure.error);
    width.error = std::max(width.error, behind + 2);  // A blank on either side.
  }
  return width;
}

void append_figure(ScreenLine& line, const report::Figure& figure, FigureWidth width, Ink ink) {
  if (figure.error.empty() && report::columns_of(figure.value) > width.value) {
    append(line, {ink, report::pad_right(" " + figure.value, width.all())});
    return;
  }
  append(line, {ink, report::pad_left(figure.value, width.value)});
  append(line, {Ink::kFaint, report::pad_right(" " + figure.error, width.error)});
}

const Measure& sorted_measure(const TableLine& line, report::SortBy sort) {
  return sort == report::SortBy::kTotal ? line.total : line.self;
}

report::Figure bytes_figure(const Measure& measure) {
  return report::figure(shown_bytes(measure), report::Quantity::kBytes);
}

/// What there is room for.
struct Columns {
  bool has_both = false;  ///< Self and total; else the one that is sorted by.
  std::size_t bar = kShortBar;
  FigureWidth bytes = {};
};

Columns columns_for(const report::TableReport& table, std::span<const TableLine> rows,
                    std::size_t width) {
  const GroupBy by = table.options.by;
  const bool has_total = by == GroupBy::kFunction || by == GroupBy::kLine ||
                         by == GroupBy::kModule || by == GroupBy::kLabel;
  const bool is_wide = width >= kTwoFigures;
  Columns columns{is_wide && has_total, is_wide ? kLongBar : kShortBar};
  std::vector<report::Figure> figures;
  for (const TableLine& row : rows) {
    figures.push_back(bytes_figure(sorted_measure(row, table.options.sort)));
    if (!columns.has_both) continue;
    figures.push_back(bytes_figure(row.self));
    figures.push_back(bytes_figure(row.total));
  }
  columns.bytes = width_of(figures);
  return columns;
}

/// A share as a bar with the part that is sure, and the part that may be.
void append_bar(ScreenLine& line, const report::Share& share, std::size_t width, bool has_unicode) {
  static constexpr std::array<std::string_view, 9> kEighths{"",  "▏", "▎", "▍", "▌",
                                                            "▋", "▊", "▉", "█"};
  const double columns = static_cast<double>(width);
  const double sure = std::clamp(share.interval.lo, 0.0, 1.0) * columns;
  const double most = std::clamp(share.interval.hi, 0.0, 1.0) * columns;
  const auto whole = static_cast<std::size_t>(sure);
  const auto eighths = static_cast<std::size_t>((sure - static_cast<double>(whole)) * 8);
  std::string filled;
  for (std::size_t i = 0; i < whole; ++i) filled += has_unicode ? "█" : "#";
  std::size_t used = whole;
  if (has_unicode && eighths > 0 && whole < width) {
    filled += kEighths[eighths];
    ++used;
  }
  const auto end = std::max(used, std::min(width, static_cast<std::size_t>(std::lround(most))));
  std::string open;
  for (; used < end; ++used) open += has_unicode ? "░" : ":";
  append(line, {Ink::kHeap, std::move(filled)});
  append(line, {Ink::kBand, std::move(open)});
  append(line, {Ink::kPlain, std::string(width - end + 2, ' ')});
}

ScreenLine headings(const report::TableReport& table, const Columns& columns) {
  const auto over_figure = [&](std::string_view name) {
    return report::pad_right(report::pad_left(name, columns.bytes.value), columns.bytes.all());
  };
  std::string text(kMark, ' ');
  if (columns.has_both) {
    text += over_figure("self") + over_figure("total");
  } else {
    text += over_figure(table.options.sort == report::SortBy::kTotal ? "total" : "bytes");
  }
  text += report::pad_right(report::pad_left("share", kShare), kShare + 1 + columns.bar + 2);
  text += report::pad_left("samples", kSamples) + "  ";
  text += report::name_of(table.options.by);
  return {{Ink::kStrong, std::move(text)}};
}

ScreenLine row_line(const report::TableReport& table, const TableLine& row, const Columns& columns,
                    bool has_unicode) {
  const report::SortBy sort = table.options.sort;
  ScreenLine line{{Ink::kWarning, row.is_order_uncertain ? "~ " : "  "}};
  const bool is_total = sort == report::SortBy::kTotal;
  if (columns.has_both) {
    append_figure(line, bytes_figure(row.self), columns.bytes, is_total ? Ink::kPlain : Ink::kHeap);
    append_figure(line, bytes_figure(row.total), columns.bytes,
                  is_total ? Ink::kHeap : Ink::kPlain);
  } else {
    append_figure(line, bytes_figure(sorted_measure(row, sort)), columns.bytes, Ink::kHeap);
  }
  const std::string share = report::figure(row.share).value;
  const bool is_short = report::columns_of(share) <= kShare;
  append(line, {Ink::kPlain, report::pad_left(is_short ? share : "", kShare) + " "});
  append_bar(line, row.share, columns.bar, has_unicode);
  append(line, {Ink::kPlain,
                report::pad_left(report::exact_count(sorted_measure(row, sort).samples), kSamples) +
                    "  "});
  return line;
}

/// What stands behind the name: the line, or else the module; of a stack its callers too.
struct Behind {
  std::string where, detail;
};

Behind behind(const TableLine& row, GroupBy by, std::size_t room, const report::Style& style) {
  std::string where = report::printable(text_of(row.where));
  if (report::columns_of(where) + kLeastName + 2 > room) where.clear();
  if (by == GroupBy::kStack) return {std::move(where), callers_text(row.detail, style)};
  const bool is_told = !where.empty() && report::is_named_by_functions(by);
  return {std::move(where), is_told ? "" : report::printable(row.detail)};
}

/// The rows' names in the room that their figures and lines leave.
std::vector<std::string> names_of(std::span<const TableLine> rows,
                                  const std::vector<Behind>& behinds, std::size_t room, GroupBy by,
                                  const report::Style& style) {
  std::vector<std::string> names;
  for (const TableLine& row : rows) names.push_back(report::printable(row.name));
  if (!report::is_named_by_functions(by) || style.names == report::Names::kFull) return names;
  std::vector<naming::Named> functions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t used =
        behinds[i].where.empty() ? 0 : report::columns_of(behinds[i].where) + 2;
    const bool has_module = by == GroupBy::kFunction || by == GroupBy::kLine;
    const std::string_view module = has_module ? rows[i].detail : std::string_view();
    functions.push_back({names[i], module, room > used ? room - used : 1});
  }
  return naming::distinct_names(functions);
}

/// The row under the cursor, from end to end.
ScreenLine chosen(const ScreenLine& line, std::size_t width) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return {{Ink::kSelected, report::pad_right(report::elide(text, width), width)}};
}

}  // namespace

std::vector<ScreenLine> draw_table(const report::TableReport& table,
                                   std::span<const report::TableLine> rows, std::size_t cursor,
                                   std::size_t width, const report::Style& style) {
  const Columns columns = columns_for(table, rows, width);
  std::vector<ScreenLine> lines{fitted(headings(table, columns), width)};
  std::vector<ScreenLine> figures;
  for (const TableLine& row : rows) {
    figures.push_back(row_line(table, row, columns, style.has_unicode));
  }
  const GroupBy by = table.options.by;
  const std::size_t used = figures.empty() ? width : columns_of(figures.front());
  const std::size_t room = width - std::min(width, used);
  std::vector<Behind> behinds;
  for (const TableLine& row : rows) behinds.push_back(behind(row, by, room, style));
  const std::vector<std::string> names = names_of(rows, behinds, room, by, style);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ScreenLine line = std::move(figures[i]);
    append(line, {Ink::kStrong, names[i]});
    if (!behinds[i].where.empty()) append(line, {Ink::kBand, "  " + behinds[i].where});
    if (!behinds[i].detail.empty()) append(line, {Ink::kFaint, "  " + behinds[i].detail});
    line = fitted(std::move(line), width);
    lines.push_back(i == cursor ? chosen(line, width) : std::move(line));
  }
  return lines;
}

}  // namespace geiger::cli
