// The keys of `geiger live`, as lines of its screen.
#include "live/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "base/text.h"
#include "live/table.h"
#include "terminal/terminal.h"

namespace geiger::live {

void add_help(terminal::Screen& screen);

namespace {

void merge(HistoryPoint& point, const HistoryPoint& other) {
  point.to = other.to;
  point.live.lo = std::min(point.live.lo, other.live.lo);
  point.live.hi = std::max(point.live.hi, other.live.hi);
  point.resident = std::max(point.resident, other.resident);
}

}  // namespace

void LiveHistory::add(Nanoseconds time, const estimation::Interval& live, Bytes resident) {
  const HistoryPoint look{time, time, live, static_cast<double>(resident)};
  if (points_.empty() || updates_in_last_ == updates_per_point_) {
    if (points_.size() == kMostPoints) {
      for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
        points_[i] = points_[2 * i];
        merge(points_[i], points_[2 * i + 1]);
      }
      points_.resize(kMostPoints / 2);
      updates_per_point_ *= 2;
    }
    points_.push_back(look);
    updates_in_last_ = 1;
    return;
  }
  merge(points_.back(), look);
  ++updates_in_last_;
}

Nanoseconds LiveHistory::length() const {
  return points_.empty() ? 0 : points_.back().to - points_.front().from;
}

std::vector<HistoryPoint> LiveHistory::columns(std::size_t columns) const {
  if (points_.size() <= columns || columns == 0) return points_;
  std::vector<HistoryPoint> drawn;
  drawn.reserve(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * points_.size() / columns;
    const std::size_t end = (column + 1) * points_.size() / columns;
    drawn.push_back(points_[begin]);
    for (std::size_t i = begin + 1; i < end; ++i) merge(drawn.back(), points_[i]);
  }
  return drawn;
}

namespace {

using KeyHelp = std::pair<std::string_view, std::string_view>;

constexpr std::array kKeys{
    KeyHelp{"q, ^C", "leave (a program that live started is asked to end)"},
    KeyHelp{"space", "pause and resume the view; the program runs on"},
    KeyHelp{"tab g", "group by function, line, stack, thread, module, size, type, label"},
    KeyHelp{"k", "live memory, or all allocations"},
    KeyHelp{"s", "sort by self, total, samples, name"},
    KeyHelp{"r", "sort by growth; press again to undo"},
    KeyHelp{"w", "growth since watching began, or recent growth"},
    KeyHelp{"z", "measure growth from now on"},
    KeyHelp{"/", "only rows whose name contains this; empty shows all"},
    KeyHelp{"f", "focus: only stacks with a frame that matches; totals include only these"},
    KeyHelp{"i", "ignore: only stacks without a frame that matches"},
    KeyHelp{"x", "hide frames that match; their callers are blamed"},
    KeyHelp{"o", "own code first, or all frames including plumbing"},
    KeyHelp{"m", "set a named mark in the trace"},
    KeyHelp{"p", "the next process of the run, or all together"},
    KeyHelp{"up down", "choose a row"},
    KeyHelp{"pgup pgdn", "a page; home and end go all the way"},
    KeyHelp{"enter", "the row in full: name, numbers, stack"},
    KeyHelp{"esc", "back"},
    KeyHelp{"± [ ]", "every number is an estimate with its 95 % interval unless it"},
    KeyHelp{"", "is marked exact; < is an upper limit where there is no sample;"},
    KeyHelp{"▲", "grew: the interval of its growth is above 0"},
    KeyHelp{"~", "may belong below the next row: their intervals overlap"},
};

}  // namespace

void add_help(terminal::Screen& screen) {
  for (const auto& [key, text] : kKeys) {
    screen.push_back({{terminal::Ink::kStrong, fmt::format(" {:<10} ", key)},
                      {terminal::Ink::kPlain, std::string(text)}});
  }
}

namespace {

using present::Quantity;
using report::LiveReport;

constexpr std::size_t kFigureRows = 5;    ///< Of totals, with the chart beside them.
constexpr std::size_t kFigureWidth = 40;  ///< Columns of the totals.
constexpr std::size_t kTallScreen = 36;   ///< From here on the chart is taller.
constexpr std::size_t kTallChart = 9;
/// An axis up to RSS would flatten a heap that is smaller than this part of it.
constexpr double kLeastShareOfResident = 0.2;

/// `left` and `right` at the ends of a line of one ink.
terminal::ScreenLine justified(std::string left, const std::string& right, std::size_t width,
                               terminal::Ink ink) {
  const std::size_t taken = present::columns_of(right);
  const std::size_t room = width - std::min(width, taken);
  return {{ink, present::pad_right(present::elide(left, room), room) + right}};
}

std::size_t chart_rows(ScreenSize size) {
  return size.height >= kTallScreen ? kTallChart : kFigureRows;
}

terminal::ScreenLine labelled(std::string_view label, terminal::Ink ink, std::string value,
                              std::string note = {}) {
  terminal::ScreenLine line{{terminal::Ink::kFaint, fmt::format(" {:<10} ", label)},
                            {ink, std::move(value)}};
  if (!note.empty()) line.push_back({terminal::Ink::kFaint, " " + std::move(note)});
  return line;
}

/// What was drawn but not recorded, in the place of the line that matters least.
terminal::ScreenLine sample_line(const LiveReport& report) {
  std::string live = fmt::format("of which {} live", present::exact_count(report.live_samples));
  return labelled("samples", terminal::Ink::kPlain, present::exact_count(report.samples),
                  std::move(live));
}

/// Of what is selected there is only an estimate; the whole was counted.
terminal::ScreenLine allocated_line(const LiveReport& report) {
  if (report.options.keeps) {
    const auto allocated =
        present::figure(present::shown_bytes(report.allocated), Quantity::kBytes);
    return labelled("allocated", terminal::Ink::kPlain, allocated.value, allocated.error);
  }
  const std::string bound =
      report.unsettled == 0 ? "exact"
                            : "+ < " + present::bound_bytes(static_cast<double>(report.unsettled));
  return labelled("allocated", terminal::Ink::kPlain, present::exact_bytes(report.exact_bytes),
                  bound);
}

std::vector<terminal::ScreenLine> figure_lines(const LiveReport& report) {
  const auto live = present::figure(present::shown_bytes(report.live), Quantity::kBytes);
  const auto objects = present::objects_figure(report.live);
  std::vector<terminal::ScreenLine> lines;
  lines.push_back(labelled("live heap", terminal::Ink::kHeap, live.value, live.error));
  lines.push_back(labelled("objects", terminal::Ink::kPlain, objects.value, objects.error));
  lines.push_back(labelled("RSS", terminal::Ink::kResident,
                           report.resident == 0 ? "-" : present::exact_bytes(report.resident)));
  lines.push_back(allocated_line(report));
  lines.push_back(sample_line(report));
  return lines;
}

/// A column of the chart, in rows from the bottom.
struct Bar {
  double lo = 0, hi = 0, resident = 0;
};

terminal::Span cell_of(const Bar& bar, double row, bool has_unicode) {
  static constexpr std::array<std::string_view, 9> kEighths{" ", "▁", "▂", "▃", "▄",
                                                            "▅", "▆", "▇", "█"};
  const double filled = std::clamp(bar.lo - row, 0.0, 1.0);
  if (filled >= 1) return {terminal::Ink::kHeap, has_unicode ? "█" : "#"};
  const auto eighths = static_cast<std::size_t>(std::lround(filled * 8));
  // Where both meet in a character, the sure part is drawn: the band has its own above.
  if (eighths > 0)
    return {terminal::Ink::kHeap, has_unicode ? std::string(kEighths[eighths]) : "#"};
  if (bar.hi > row) return {terminal::Ink::kBand, has_unicode ? "░" : ":"};
  if (bar.resident > row && bar.resident <= row + 1)
    return {terminal::Ink::kResident, has_unicode ? "─" : "-"};
  return {terminal::Ink::kPlain, " "};
}

/// The live heap over time with its band, and RSS, the latest at the right.
std::vector<terminal::ScreenLine> chart_lines(const LiveHistory& history, std::size_t width,
                                              std::size_t rows, bool has_unicode) {
  const std::vector<HistoryPoint> points = history.columns(width);
  double heap = 1, resident = 0;
  for (const HistoryPoint& point : points) {
    heap = std::max(heap, point.live.hi);
    resident = std::max(resident, point.resident);
  }
  const bool shows_resident = heap >= kLeastShareOfResident * resident;
  const double most = shows_resident ? std::max(heap, resident) : heap;
  const std::size_t plot = rows - 1;
  const double scale = static_cast<double>(plot) / most;
  std::vector<terminal::ScreenLine> lines;
  for (std::size_t row = plot; row-- > 0;) {
    terminal::ScreenLine line{{terminal::Ink::kPlain, std::string(width - points.size(), ' ')}};
    for (const HistoryPoint& point : points) {
      const Bar bar{point.live.lo * scale, point.live.hi * scale,
                    shows_resident ? point.resident * scale : 0};
      terminal::append(line, cell_of(bar, static_cast<double>(row), has_unicode));
    }
    lines.push_back(std::move(line));
  }
  terminal::ScreenLine legend{
      {terminal::Ink::kFaint, fmt::format("{}, to {}  ", present::duration(history.length()),
                                          present::bound_bytes(most))}};
  terminal::append(legend, {terminal::Ink::kHeap, has_unicode ? "█" : "#"});
  terminal::append(legend, {terminal::Ink::kFaint, " heap "});
  terminal::append(legend, {terminal::Ink::kBand, has_unicode ? "░" : ":"});
  terminal::append(legend, {terminal::Ink::kFaint, " ±"});
  if (shows_resident) {
    terminal::append(legend, {terminal::Ink::kResident, has_unicode ? " ─" : " -"});
    terminal::append(legend, {terminal::Ink::kFaint, " RSS"});
  }
  lines.push_back(terminal::fitted(std::move(legend), width));
  return lines;
}

void add_overview(terminal::Screen& screen, const LiveReport& report, const LiveHistory& history,
                  ScreenSize size, bool has_unicode) {
  const std::size_t rows = chart_rows(size);
  std::vector<terminal::ScreenLine> figures = figure_lines(report);
  figures.resize(std::max(rows, figures.size()));
  const std::size_t left = std::min(kFigureWidth, size.width / 2);
  const std::size_t width = size.width - left - 1;
  const std::vector<terminal::ScreenLine> chart = chart_lines(history, width, rows, has_unicode);
  for (std::size_t i = 0; i < rows; ++i) {
    terminal::ScreenLine line = terminal::fitted(std::move(figures[i]), left - 1);
    line.push_back({terminal::Ink::kPlain, std::string(left - terminal::columns_of(line), ' ')});
    line.insert(line.end(), chart[i].begin(), chart[i].end());
    screen.push_back(std::move(line));
  }
}

std::string state_of(const LiveView& view, const LiveReport& report) {
  if (!view.progress.empty()) return view.progress;
  if (view.has_ended) return "ended";
  if (view.is_paused) return "view paused";
  const auto shown = std::ranges::find_if(report.processes, [&](const auto& process) {
    return !report.options.process || process.index == *report.options.process;
  });
  return shown == report.processes.end() ? "waiting" : shown->state;
}

terminal::ScreenLine head_line(const LiveView& view, const LiveReport& report, std::size_t width) {
  std::string who = present::printable(view.shown);
  if (report.options.process) {
    for (const auto& process : report.processes) {
      if (process.index != *report.options.process) continue;
      who = fmt::format("{} (pid {})", present::printable(process.name), process.pid);
    }
  } else if (report.processes.size() > 1) {
    who += fmt::format(", {} processes", report.processes.size());
  }
  std::string right = state_of(view, report);
  if (report.interval != 0) right += " · 1 in " + present::exact_bytes(report.interval);
  right += " · " + present::duration(report.elapsed) + " ";
  if (view.names_missing > 0) {
    right = fmt::format("looking up {} · ", present::plural(view.names_missing, "name")) + right;
  }
  return justified(" geiger live  " + who, right, width, terminal::Ink::kBar);
}

/// Which row grows, or that none is shown to.
terminal::ScreenLine growth_line(const LiveView& view, const LiveReport& report,
                                 std::size_t width) {
  if (view.counts_itself)
    return {{terminal::Ink::kFaint, " growth is not available for aggregated recordings"}};
  if (!report.growth.is_known())
    return {{terminal::Ink::kFaint, " growth is shown from the next update on"}};
  const bool grows = report.growth.is_any_growing();
  if (view.has_ended && !grows && view.grew.is_any_growing()) {
    constexpr std::string_view kWhen = " before the end: ";
    const std::size_t room = std::max(width, kWhen.size() + 1) - kWhen.size();
    return {{terminal::Ink::kWarning, std::string(kWhen) + sentence(view.grew, room)}};
  }
  return {{grows ? terminal::Ink::kWarning : terminal::Ink::kFaint,
           " " + sentence(report.growth, width - 1)}};
}

std::string_view word_for(const report::LiveOptions& options) {
  if (options.sorts_by_growth) return "growth";
  switch (options.table.sort) {
    case report::SortBy::kTotal:
      return "total";
    case report::SortBy::kSamples:
      return "samples";
    case report::SortBy::kName:
      return "name";
    default:
      return "self";
  }
}

terminal::ScreenLine table_title(const LiveView& view, const LiveReport& report,
                                 std::size_t width) {
  const bool is_live = report.table.kind != profile::Kind::kAllocated;
  std::string left =
      fmt::format(" {} by {}", is_live ? "live" : "allocated", name_of(report.options.table.by));
  const std::string only = present::only_text(report.options.table.scope);
  if (!only.empty()) left += ", " + present::printable(only);
  if (view.shows_plumbing) left += ", with plumbing";
  left += fmt::format(", sorted by {}", word_for(report.options));
  if (!view.filter.empty()) left += fmt::format(", with '{}'", present::printable(view.filter));
  std::string right;
  if (report.dropped > 0)
    right += fmt::format("dropped {}  ", present::exact_count(report.dropped));
  if (report.thinning > 0) right += fmt::format("1 of 2^{} followed  ", report.thinning);
  const bool warns = !right.empty();
  const std::size_t rows = report.table.rows;
  const std::size_t first = rows == 0 ? 0 : view.scroll + 1;
  const std::size_t last = std::min<std::size_t>(rows, report.table.lines.size());
  right += fmt::format("{}-{} of {}", first, last, rows);
  if (report.detection_limit > 0) {
    right += fmt::format("  unseen < {} ", present::bound_bytes(report.detection_limit));
  }
  const std::size_t room = width - std::min(width, present::columns_of(right));
  return {{terminal::Ink::kStrong, present::pad_right(present::elide(left, room), room)},
          {warns ? terminal::Ink::kWarning : terminal::Ink::kFaint, right}};
}

std::vector<terminal::ScreenLine> lines_of(std::string_view text, terminal::Ink ink) {
  std::vector<terminal::ScreenLine> lines;
  while (!text.empty()) lines.push_back({{ink, std::string(base::take_part(text))}});
  return lines;
}

void add_table(terminal::Screen& screen, const LiveView& view, const LiveReport& report,
               ScreenSize size, const present::Style& style) {
  if (view.scroll < report.table.lines.size()) {
    for (terminal::ScreenLine& line :
         draw_table(report, view.scroll, table_rows(size), view.cursor, size.width, style)) {
      screen.push_back(std::move(line));
    }
    return;
  }
  const std::string_view nothing =
      view.filter.empty() ? " nothing sampled yet" : " no name contains that";
  screen.push_back({{terminal::Ink::kFaint, std::string(nothing)}});
}

void add_wrapped(terminal::Screen& screen, terminal::Ink ink, const std::string& text,
                 std::size_t indent, std::size_t width) {
  const std::string padded = std::string(indent, ' ') + present::wrap(text, indent, width);
  for (terminal::ScreenLine& line : lines_of(padded, ink)) screen.push_back(std::move(line));
}

/// The frames of a stack, or the functions of a location, leaf first.
std::vector<std::string> frames_of(const profile::Recording& picture, std::uint32_t stack,
                                   std::size_t width, const present::Style& style) {
  std::vector<std::string> frames;
  if (stack >= picture.stacks.size()) return frames;
  for (const std::uint32_t location : picture.stacks[stack].locations) {
    for (const std::uint32_t index : picture.locations[location].frames) {
      const profile::Frame& frame = picture.frames[index];
      std::string text = present::function_text(frame.function, width, style);
      if (!frame.file.empty()) {
        text += fmt::format("  {}:{}", present::printable(frame.file), frame.line);
      }
      frames.push_back(std::move(text));
    }
  }
  return frames;
}

void add_growths(terminal::Screen& screen, const LiveReport& report, const report::RowKey& key) {
  const auto add = [&](std::string_view name, const report::LiveGrowth& growth) {
    const auto bytes = present::change_figure(growth.bytes, growth.interval);
    screen.push_back(
        labelled(name, terminal::Ink::kPlain, rate_figure(growth).text(),
                 fmt::format("({} in {})", bytes.text(), present::duration(growth.length))));
  };
  if (report.growth.is_known()) add("growth", report.growth.since_start(key));
  if (report.growth.has_recent()) add("recently", report.growth.recent(key));
}

void add_row_pane(terminal::Screen& screen, const LiveView& view, const LiveReport& report,
                  const profile::Recording& picture, std::size_t width,
                  const present::Style& style) {
  if (view.cursor >= report.table.lines.size()) {
    screen.push_back({{terminal::Ink::kFaint, " no row is selected"}});
    return;
  }
  const report::TableLine& line = report.table.lines[view.cursor];
  add_wrapped(screen, terminal::Ink::kStrong, present::printable(line.name), 1, width);
  if (line.stack == profile::kNone && !line.detail.empty()) {
    add_wrapped(screen, terminal::Ink::kFaint, present::printable(line.detail), 1, width);
  }
  const auto numbers = [&](std::string_view name, const present::Measure& measure) {
    screen.push_back(
        labelled(name, terminal::Ink::kHeap,
                 present::figure(present::shown_bytes(measure), Quantity::kBytes).text(),
                 present::objects_figure(measure).text() + " objects, " +
                     present::plural(measure.samples, "sample")));
  };
  numbers("self", line.self);
  numbers("total", line.total);
  screen.push_back(labelled("share", terminal::Ink::kPlain, present::figure(line.share).text()));
  add_growths(screen, report, key_of(line, report.options.table.by));
  screen.push_back({});
  for (const std::string& frame : frames_of(picture, line.stack, width, style)) {
    screen.push_back({{terminal::Ink::kPlain, "   " + frame}});
  }
}

terminal::ScreenLine foot_line(const LiveView& view, std::size_t width) {
  if (!view.prompt.empty()) {
    return justified(fmt::format(" {}: {}_", view.prompt, present::printable(view.typed)),
                     "enter accepts, esc cancels ", width, terminal::Ink::kBar);
  }
  if (!view.message.empty()) {
    return justified(" " + present::printable(view.message), "", width, terminal::Ink::kBar);
  }
  if (view.pane != Pane::kTable) {
    return justified(" esc back  q quit", "", width, terminal::Ink::kBar);
  }
  return justified(
      " q quit  space pause  g group  k kind  s sort  r growth  / filter  p pid  ? help", "", width,
      terminal::Ink::kBar);
}

}  // namespace

std::size_t table_rows(ScreenSize size) {
  // Head, growth, title, headings, foot.
  constexpr std::size_t kOthers = 5;
  const std::size_t taken = chart_rows(size) + kOthers;
  return size.height > taken ? size.height - taken : 1;
}

terminal::Screen draw_live(const LiveView& view, const report::LiveReport& report,
                           const profile::Recording& picture, const LiveHistory& history,
                           ScreenSize size, const present::Style& style) {
  terminal::Screen screen;
  if (size.width < kLeastScreen.width || size.height < kLeastScreen.height) {
    const std::string needs = fmt::format("needs {} x {}, has {} x {}", kLeastScreen.width,
                                          kLeastScreen.height, size.width, size.height);
    screen.push_back(terminal::fitted({{terminal::Ink::kWarning, needs}}, size.width));
    screen.resize(size.height);
    return screen;
  }
  screen.push_back(head_line(view, report, size.width));
  if (view.pane == Pane::kHelp) {
    add_help(screen);
  } else {
    screen.push_back(growth_line(view, report, size.width));
    add_overview(screen, report, history, size, style.has_unicode);
    screen.push_back(table_title(view, report, size.width));
    if (view.pane == Pane::kRow) {
      add_row_pane(screen, view, report, picture, size.width, style);
    } else {
      add_table(screen, view, report, size, style);
    }
  }
  screen.resize(size.height - 1);
  for (terminal::ScreenLine& line : screen) line = terminal::fitted(std::move(line), size.width);
  screen.push_back(foot_line(view, size.width));
  if (style.has_unicode) return screen;
  for (terminal::ScreenLine& line : screen) {
    for (terminal::Span& span : line) span.text = present::to_ascii_marks(std::move(span.text));
  }
  return screen;
}

}  // namespace geiger::live
