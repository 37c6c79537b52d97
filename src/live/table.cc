#include "live/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/text.h"
#include "analysis/report/profiles/table.h"

namespace geiger::live {
namespace {

using present::Measure;
using profile::GroupBy;
using report::TableLine;

constexpr std::size_t kMark = 2;   ///< Whether the order is open.
constexpr std::size_t kValue = 9;  ///< "1,023 MiB".
constexpr std::size_t kShare = 6;  ///< "97.7 %".
constexpr std::size_t kRate = 12;  ///< "+1,023 KiB/s".
constexpr std::size_t kSamples = 8;
constexpr std::size_t kLeastName = 12;
constexpr std::size_t kTwoFigures = 110;  ///< From this width on, self and total.
/// Widths from which on growth leaves room for a share, for its bar with the samples, for both.
constexpr std::size_t kShareBesideGrowth = 96, kBarBesideGrowth = 120, kAllBesideGrowth = 140;
constexpr std::size_t kLongBar = 20, kShortBar = 6;

/// A value and its error, the first of them right-aligned: " 2.19 MiB [1.52, 3.05]".
struct FigureWidth {
  std::size_t value = kValue, error = kValue;

  [[nodiscard]] std::size_t all() const { return value + error; }
};

/// One without an error may need the room of both: "316.5 KiB exact + < 237 KiB".
FigureWidth width_of(std::span<const present::Figure> figures) {
  FigureWidth width;
  for (const present::Figure& figure : figures) {
    const std::size_t value = present::columns_of(figure.value);
    const std::size_t behind = figure.error.empty() ? value + 1 - std::min(value + 1, width.value)
                                                    : present::columns_of(figure.error);
    width.error = std::max(width.error, behind + 2);  // A blank on either side.
  }
  return width;
}

void append_figure(terminal::ScreenLine& line, const present::Figure& figure, FigureWidth width,
                   terminal::Ink ink) {
  if (figure.error.empty() && present::columns_of(figure.value) > width.value) {
    terminal::append(line, {ink, present::pad_right(" " + figure.value, width.all())});
    return;
  }
  terminal::append(line, {ink, present::pad_left(figure.value, width.value)});
  terminal::append(line,
                   {terminal::Ink::kFaint, present::pad_right(" " + figure.error, width.error)});
}

const Measure& sorted_measure(const TableLine& line, report::SortBy sort) {
  return sort == report::SortBy::kTotal ? line.total : line.self;
}

present::Figure bytes_figure(const Measure& measure) {
  return present::figure(shown_bytes(measure), present::Quantity::kBytes);
}

/// What is drawn: some rows of a table, with their growth where that is known.
struct Rows {
  const report::LiveReport& report;
  std::span<const TableLine> lines;
  std::span<const report::LiveGrowth> growths;

  [[nodiscard]] GroupBy by() const { return report.options.table.by; }
  [[nodiscard]] report::SortBy sort() const { return report.options.table.sort; }
};

/// What there is room for.
struct LiveColumns {
  bool has_both = false;  ///< Self and total; else the one that is sorted by.
  bool has_growth = false, has_share = true;
  std::size_t bar = kShortBar;  ///< 0: no bar, and no samples.
  FigureWidth bytes = {}, growth = {};
};

/// Growth says more than a share: it takes the room of that where there is not enough for both.
LiveColumns columns_for(const Rows& rows, std::size_t width) {
  const GroupBy by = rows.by();
  const bool has_total = by == GroupBy::kFunction || by == GroupBy::kLine ||
                         by == GroupBy::kModule || by == GroupBy::kLabel;
  LiveColumns columns;
  columns.has_growth = !rows.growths.empty();
  const bool is_wide = width >= (columns.has_growth ? kAllBesideGrowth : kTwoFigures);
  const bool has_bar = !columns.has_growth || width >= kBarBesideGrowth;
  columns.has_both = is_wide && has_total;
  columns.has_share = !columns.has_growth || width >= kShareBesideGrowth;
  columns.bar = is_wide ? kLongBar : has_bar ? kShortBar : 0;
  return columns;
}

void fit_figures(LiveColumns& columns, const Rows& rows) {
  std::vector<present::Figure> bytes, growths;
  for (const TableLine& row : rows.lines) {
    bytes.push_back(bytes_figure(sorted_measure(row, rows.sort())));
    if (!columns.has_both) continue;
    bytes.push_back(bytes_figure(row.self));
    bytes.push_back(bytes_figure(row.total));
  }
  for (const report::LiveGrowth& growth : rows.growths) growths.push_back(rate_figure(growth));
  columns.bytes = width_of(bytes);
  columns.growth.value = kRate;
  columns.growth.error = width_of(growths).error;
}

/// A share as a bar with the part that is sure, and the part that may be.
void append_bar(terminal::ScreenLine& line, const present::Share& share, std::size_t width,
                bool has_unicode) {
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
  terminal::append(line, {terminal::Ink::kHeap, std::move(filled)});
  terminal::append(line, {terminal::Ink::kBand, std::move(open)});
  terminal::append(line, {terminal::Ink::kPlain, std::string(width - end + 2, ' ')});
}

std::string growth_heading(const report::LiveReport& report) {
  const bool is_recent =
      report.options.growth_of == report::GrowthOf::kRecent && report.growth.has_recent();
  const std::string since =
      present::duration(is_recent ? report.growth.recent_length() : report.growth.length());
  return (is_recent ? "last " : "in ") + since;
}

terminal::ScreenLine headings(const Rows& rows, const LiveColumns& columns) {
  const auto over_figure = [](std::string_view name, FigureWidth width) {
    return present::pad_right(present::pad_left(name, width.value), width.all());
  };
  std::string text(kMark, ' ');
  if (columns.has_both) {
    text += over_figure("self", columns.bytes) + over_figure("total", columns.bytes);
  } else {
    const bool is_total = rows.sort() == report::SortBy::kTotal;
    text += over_figure(is_total ? "total" : "bytes", columns.bytes);
  }
  if (columns.has_growth) {
    text +=
        present::pad_right(over_figure("growth", columns.growth).substr(0, columns.growth.value) +
                               " " + growth_heading(rows.report),
                           kMark + columns.growth.all());
  }
  const std::size_t bar = columns.bar == 0 ? 0 : columns.bar + 2;
  if (columns.has_share) {
    text += present::pad_right(present::pad_left("share", kShare), kShare + 2 + bar);
  }
  if (columns.bar != 0) text += present::pad_left("samples", kSamples) + "  ";
  text += name_of(rows.by());
  return {{terminal::Ink::kStrong, std::move(text)}};
}

/// Marked where it is more than what is alike at both instants could hide.
void append_growth(terminal::ScreenLine& line, const report::LiveGrowth& growth, FigureWidth width,
                   bool has_unicode) {
  const bool is_marked = growth.is_above_zero();
  terminal::append(line, {terminal::Ink::kWarning, !is_marked ? "  " : has_unicode ? "▲ " : "^ "});
  const bool is_still = growth.bytes == 0;
  append_figure(line, rate_figure(growth), width,
                is_marked  ? terminal::Ink::kStrong
                : is_still ? terminal::Ink::kFaint
                           : terminal::Ink::kPlain);
}

terminal::ScreenLine row_line(const Rows& rows, std::size_t index, const LiveColumns& columns,
                              bool has_unicode) {
  const TableLine& row = rows.lines[index];
  const report::SortBy sort = rows.sort();
  terminal::ScreenLine line{{terminal::Ink::kWarning, row.is_order_uncertain ? "~ " : "  "}};
  const bool is_total = sort == report::SortBy::kTotal;
  if (columns.has_both) {
    append_figure(line, bytes_figure(row.self), columns.bytes,
                  is_total ? terminal::Ink::kPlain : terminal::Ink::kHeap);
    append_figure(line, bytes_figure(row.total), columns.bytes,
                  is_total ? terminal::Ink::kHeap : terminal::Ink::kPlain);
  } else {
    append_figure(line, bytes_figure(sorted_measure(row, sort)), columns.bytes,
                  terminal::Ink::kHeap);
  }
  if (columns.has_growth) append_growth(line, rows.growths[index], columns.growth, has_unicode);
  if (columns.has_share) {
    const std::string share = present::figure(row.share).value;
    const bool is_short = present::columns_of(share) <= kShare;
    terminal::append(
        line, {terminal::Ink::kPlain,
               present::pad_left(is_short ? share : "", kShare) + (columns.bar == 0 ? "  " : " ")});
  }
  if (columns.bar == 0) return line;
  append_bar(line, row.share, columns.bar, has_unicode);
  terminal::append(line,
                   {terminal::Ink::kPlain,
                    " " +
                        present::pad_left(present::exact_count(sorted_measure(row, sort).samples),
                                          kSamples - 1) +
                        "  "});
  return line;
}

/// The text after the name: the line, or else the module; of a stack also its callers.
struct Behind {
  std::string where, detail;
};

Behind behind(const TableLine& row, GroupBy by, std::size_t room, const present::Style& style) {
  std::string where = present::printable(text_of(row.where));
  // It distinguishes rows by line.
  const bool has_room = present::columns_of(where) + kLeastName + 2 <= room;
  if (!has_room && by != GroupBy::kLine) where.clear();
  if (by == GroupBy::kStack) {
    return {std::move(where), row.context.empty() ? callers_text(row.detail, style)
                                                  : report::context_text(row.context, style)};
  }
  const bool is_told = !where.empty() && present::is_named_by_functions(by);
  return {std::move(where), is_told ? "" : present::printable(row.detail)};
}

/// The rows' names in the room that their figures and lines leave.
std::vector<std::string> names_of(std::span<const TableLine> rows,
                                  const std::vector<Behind>& behinds, std::size_t room, GroupBy by,
                                  const present::Style& style) {
  std::vector<std::string> names;
  for (const TableLine& row : rows) names.push_back(present::printable(row.name));
  if (!present::is_named_by_functions(by) || style.names == present::Names::kFull) return names;
  std::vector<naming::Named> functions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t used =
        behinds[i].where.empty() ? 0 : present::columns_of(behinds[i].where) + 2;
    const bool has_module = by == GroupBy::kFunction || by == GroupBy::kLine;
    const std::string_view module = has_module ? rows[i].detail : std::string_view();
    functions.push_back({names[i], module, room > used ? room - used : 1});
  }
  return naming::distinct_names(functions);
}

/// The row under the cursor, from end to end.
terminal::ScreenLine chosen(const terminal::ScreenLine& line, std::size_t width) {
  std::string text;
  for (const terminal::Span& span : line) text += span.text;
  return {{terminal::Ink::kSelected, present::pad_right(present::elide(text, width), width)}};
}

}  // namespace

std::vector<terminal::ScreenLine> draw_table(const report::LiveReport& report, std::size_t first,
                                             std::size_t most, std::size_t cursor,
                                             std::size_t width, const present::Style& style) {
  const std::vector<TableLine>& all = report.table.lines;
  const std::size_t begin = std::min(first, all.size());
  const std::size_t count = std::min(most, all.size() - begin);
  const std::span<const report::LiveGrowth> growths(report.growths);
  const Rows shown{report, std::span(all).subspan(begin, count),
                   growths.empty() ? growths : growths.subspan(begin, count)};
  const std::span<const TableLine> rows = shown.lines;
  const GroupBy by = shown.by();
  LiveColumns columns = columns_for(shown, width);
  fit_figures(columns, shown);
  std::vector<terminal::ScreenLine> lines{terminal::fitted(headings(shown, columns), width)};
  std::vector<terminal::ScreenLine> figures;
  for (std::size_t i = 0; i < count; ++i) {
    figures.push_back(row_line(shown, i, columns, style.has_unicode));
  }
  const std::size_t used = figures.empty() ? width : terminal::columns_of(figures.front());
  const std::size_t room = width - std::min(width, used);
  std::vector<Behind> behinds;
  for (const TableLine& row : rows) behinds.push_back(behind(row, by, room, style));
  const std::vector<std::string> names = names_of(rows, behinds, room, by, style);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    terminal::ScreenLine line = std::move(figures[i]);
    terminal::append(line, {terminal::Ink::kStrong, names[i]});
    if (!behinds[i].where.empty())
      terminal::append(line, {terminal::Ink::kBand, "  " + behinds[i].where});
    const std::size_t taken = terminal::columns_of(line);
    terminal::append(
        line, {terminal::Ink::kFaint, present::tail_within(behinds[i].detail, width, taken)});
    line = terminal::fitted(std::move(line), width);
    lines.push_back(begin + i == cursor ? chosen(line, width) : std::move(line));
  }
  return lines;
}

}  // namespace geiger::live
