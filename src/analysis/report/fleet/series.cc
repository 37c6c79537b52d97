#include "analysis/report/fleet/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/charts/chart.h"
#include "analysis/present/coverage.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"

namespace geiger::report {
namespace {

using estimation::Estimate;
using present::Fields;
using present::Of;
using OfPoint = std::optional<Estimate> SeriesPoint::*;

constexpr std::size_t kSeriesPlotRows = 8;
constexpr std::size_t kSeriesPlotColumns = 100;
constexpr std::size_t kLeastPlotColumns = 36;
constexpr std::size_t kMostMarks = 24;
constexpr std::size_t kMinuteOfDate = 16;  ///< "2026-05-01T14:00"

std::string step_text(const SeriesReport& report) {
  return present::duration(static_cast<Nanoseconds>(report.step) * 1'000'000'000);
}

std::string minute_of(const SeriesPoint& point) {
  return point.from.substr(0, kMinuteOfDate) + "Z";
}

/// "05-01 14:00", for the ends of an axis.
std::string short_time(const SeriesPoint& point) {
  return point.from.substr(5, 5) + " " + point.from.substr(11, 5);
}

/// A series with its limits as further curves.
present::Chart chart_of(const SeriesReport& report, OfPoint value, const char* title) {
  present::Chart chart;
  chart.title = title;
  present::Curve curve, least, most;
  double largest = 0;
  for (const SeriesPoint& point : report.points) {
    const Estimate& estimate = *(point.*value);
    const auto at = static_cast<double>(point.started);
    curve.points.push_back({at, estimate.value});
    least.points.push_back({at, estimate.interval.lo});
    most.points.push_back({at, estimate.interval.hi});
    largest = std::max(largest, estimate.interval.hi);
  }
  const SeriesPoint& first = report.points.front();
  const SeriesPoint& last = report.points.back();
  chart.x = {"", static_cast<double>(first.started), static_cast<double>(last.started), false, {}};
  chart.x.ticks = {{chart.x.least, short_time(first)}, {chart.x.most, short_time(last)}};
  chart.y = {"", 0, std::max(largest, 1.0), false, {{0, "0"}}};
  chart.y.ticks.push_back({chart.y.most, present::bound_bytes(chart.y.most)});
  chart.curves = {std::move(curve), std::move(least), std::move(most)};
  return chart;
}

/// Both, side by side if there is room.
std::string pictures(const SeriesReport& report, const present::Style& style) {
  if (report.points.size() < 3) return "";
  const std::string limits = present::level_text(report.level);
  const std::string titles[] = {fmt::format("allocated a step, {} limits", limits),
                                fmt::format("live, {} limits", limits)};
  constexpr std::size_t kSpaces = 3;
  const std::size_t width = std::min(style.width, kSeriesPlotColumns);
  const bool has_room = width >= 2 * kLeastPlotColumns + kSpaces;
  const std::size_t columns = has_room ? (width - kSpaces) / 2 : width;
  const auto drawn = [&](OfPoint value, const std::string& title) {
    return present::draw_dots(chart_of(report, value, title.c_str()), columns, kSeriesPlotRows,
                              style.has_unicode);
  };
  const auto left = drawn(&SeriesPoint::allocated, titles[0]);
  const auto right = drawn(&SeriesPoint::live, titles[1]);
  if (has_room) return present::beside(left, right, kSpaces) + "\n";
  return present::beside(left, {}, 0) + "\n" + present::beside(right, {}, 0) + "\n";
}

std::string recorded_cell(const present::Coverage& coverage) {
  const std::string recorded = present::duration(coverage.recorded_ms * 1'000'000);
  if (coverage.is_whole()) return recorded;
  return fmt::format("{} of {}", recorded, present::duration(coverage.expected_ms * 1'000'000));
}

std::string hosts_cell(const present::Coverage& coverage) {
  if (coverage.recorded_hosts == coverage.hosts) return present::exact_count(coverage.hosts);
  return fmt::format("{} of {}", coverage.recorded_hosts, coverage.hosts);
}

std::string steps_table(const SeriesReport& report, const present::Style& style) {
  std::vector<present::Column> columns{{"from", present::Align::kLeft}};
  present::append_figure_columns(columns, "allocated");
  present::append_figure_columns(columns, "live");
  columns.push_back({"hosts"});
  columns.push_back({"recorded", present::Align::kLeft});
  present::Grid grid(std::move(columns));
  const std::size_t all = report.points.size();
  const std::size_t shown = report.top == 0 ? all : std::min(report.top, all);
  for (std::size_t i = all - shown; i < all; ++i) {
    const SeriesPoint& point = report.points[i];
    std::vector<std::string> cells{minute_of(point)};
    present::append_figure(cells, present::figure(*point.allocated, present::Quantity::kBytes));
    present::append_figure(cells, present::figure(*point.live, present::Quantity::kBytes));
    cells.push_back(hosts_cell(point.coverage));
    cells.push_back(recorded_cell(point.coverage));
    grid.add(std::move(cells));
    grid.keep_whole();
  }
  std::string text = grid.text(style);
  if (shown < all) {
    text +=
        fmt::format("{} before them; --top 0 shows all.\n", present::plural(all - shown, "step"));
  }
  return text;
}

}  // namespace

std::string marks_of(const std::vector<Estimate>& points, std::size_t most_marks,
                     bool has_unicode) {
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kSigns[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  double most = 0;
  for (const Estimate& point : points) most = std::max(most, point.value);
  const std::size_t marks = std::min(points.size(), most_marks);
  std::string text;
  for (std::size_t mark = 0; mark < marks; ++mark) {
    double value = 0;
    for (std::size_t i = mark * points.size() / marks; i < (mark + 1) * points.size() / marks; ++i)
      value = std::max(value, points[i].value);
    const auto height =
        most > 0 ? static_cast<std::size_t>(std::ceil(8 * std::min(value / most, 1.0))) : 0;
    text += (has_unicode ? kBlocks : kSigns)[height];
  }
  return text;
}

namespace {

const Estimate& largest_of(const SeriesSite& site) {
  return *std::ranges::max_element(site.points, {}, &Estimate::value);
}

/// The columns of a site's row that fit.
struct SiteColumns {
  bool has_largest = true;
  std::size_t marks = kMostMarks;
};

present::Grid sites_grid(const SeriesReport& report, const SiteColumns& shown,
                         const present::Style& style) {
  std::vector<present::Column> columns;
  if (shown.has_largest) present::append_figure_columns(columns, "largest");
  present::append_figure_columns(columns, "last");
  columns.push_back({"over time", present::Align::kLeft});
  columns.push_back({"function", present::Align::kLeft, false, true});
  present::Grid grid(std::move(columns));
  const auto figure = [](const Estimate& bytes) {
    return present::figure(bytes, present::Quantity::kBytes);
  };
  for (const SeriesSite& site : report.sites) {
    std::vector<std::string> cells;
    if (shown.has_largest) present::append_figure(cells, figure(largest_of(site)));
    present::append_figure(cells, figure(site.points.back()));
    cells.push_back(marks_of(site.points, shown.marks, style.has_unicode));
    cells.push_back(present::printable(site.name));
    present::add_row(grid, std::move(cells), site.name, site.detail, profile::GroupBy::kFunction,
                     style, false, site.where);
  }
  return grid;
}

std::string sites_table(const SeriesReport& report, const present::Style& style) {
  constexpr std::size_t kRoomForSeriesName = 20;
  constexpr SiteColumns kChoices[] = {{}, {false}, {false, kMostMarks / 2}};
  std::string text;
  for (const SiteColumns& shown : kChoices) {
    const present::Grid grid = sites_grid(report, shown, style);
    text = grid.text(style) + "\n";
    if (grid.room_for_cut(style.width) >= kRoomForSeriesName) break;
  }
  std::string notes =
      fmt::format("From {} to {}, each row drawn to its own largest step.\n",
                  minute_of(report.points.front()), minute_of(report.points.back()));
  if (report.site_count > report.sites.size()) {
    text += fmt::format("{}; --top 0 shows them.\n",
                        present::plural(report.site_count - report.sites.size(), "more function"));
  }
  return text + present::wrap_lines(notes, style.width);
}

}  // namespace

std::string to_text(const SeriesReport& report, const present::Style& style) {
  const std::string what =
      report.has_sites ? fmt::format("Functions over time: {}", profile::kind_text(report.kind))
                       : std::string("Over time");
  std::string title = fmt::format("{} in steps of {}", what, step_text(report));
  if (const std::string only = present::only_text(report.scope); !only.empty())
    title += "; " + only;
  title += fmt::format(": {}, {} intervals", present::plural(report.points.size(), "step"),
                       present::level_text(report.level));
  std::string out =
      present::paint(style, present::Role::kHeading, present::wrap(title, 0, style.width)) + "\n\n";
  out += report.has_sites ? sites_table(report, style)
                          : pictures(report, style) + steps_table(report, style);
  out += "\n";
  return out + text_of(report.scope.fleet, style);
}

static const Fields<SeriesPoint>& fields_of(Of<SeriesPoint> /*type*/) {
  static const auto kFields =
      Fields<SeriesPoint>("series_point")
          .field("from", "", &SeriesPoint::from)
          .field("hosts", "", [](const SeriesPoint& it) { return it.coverage.hosts; })
          .field("recorded_hosts", "",
                 [](const SeriesPoint& it) { return it.coverage.recorded_hosts; })
          .field("expected_hours", "recorded and missing, summed over hosts",
                 [](const SeriesPoint& it) { return present::hours_of(it.coverage.expected_ms); })
          .field("recorded_hours", "",
                 [](const SeriesPoint& it) { return present::hours_of(it.coverage.recorded_ms); })
          .field("allocated", "in the step", &SeriesPoint::allocated)
          .field("live", "on average over the step", &SeriesPoint::live);
  return kFields;
}

static const Fields<SeriesSite>& fields_of(Of<SeriesSite> /*type*/) {
  static const auto kFields =
      Fields<SeriesSite>("series_row")
          .inlined([](const SeriesSite& it) { return present::Named{it.name}; })
          .field("detail", "as rows of `table` have it", &SeriesSite::detail)
          .inlined(&SeriesSite::where)
          .field("points", "bytes, parallel to the points of the document", &SeriesSite::points);
  return kFields;
}

const Fields<SeriesReport>& fields_of(Of<SeriesReport> /*type*/) {
  const auto of_sites = [](auto field) {
    return [field](const SeriesReport& it) { return present::if_true(it.has_sites, it.*field); };
  };
  static const auto kFields =
      Fields<SeriesReport>("fleet-series")
          .field("level", "confidence level of all intervals", &SeriesReport::level)
          .field("step_seconds", "", &SeriesReport::step)
          .inlined(&SeriesReport::scope)
          .field("points", "in order of time, without steps in which nothing was recorded",
                 &SeriesReport::points)
          .field("kind", "with `--by`: of points and rows", of_sites(&SeriesReport::kind))
          .one_of({"allocated", "live"})
          .field("by", "what a row is of",
                 [](const SeriesReport& it) { return present::if_true(it.has_sites, "function"); })
          .one_of({"function"})
          .field("row_count", "rows before `--top`", of_sites(&SeriesReport::site_count))
          .field("rows", "the largest first", of_sites(&SeriesReport::sites));
  return kFields;
}

std::string to_json(const SeriesReport& report) {
  return present::document("fleet-series", report);
}

}  // namespace geiger::report
