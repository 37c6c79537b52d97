// `lifetimes` as text, with the survival curve as a picture.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/present/charts/chart.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {

// The survival curve as a picture.

/// The share alive against the length of life, with the limits of its band. A logarithmic
/// axis from the shortest life seen (at least 1 ns) to the longest watched.
[[nodiscard]] present::Chart survival_chart(const LifetimeFigures& figures, std::string title);

namespace {

using estimation::SurvivalStep;

/// A picture has room for as many labelled decades.
constexpr double kMostTicks = 5;

/// Axis over whole decades: nanoseconds.
present::Axis length_axis(const LifetimeFigures& figures) {
  const double shortest = figures.steps.empty() ? figures.longest : figures.steps.front().length;
  const double first = std::floor(std::log10(std::max(shortest, 1.0)));
  const double last = std::max(first + 1, std::ceil(std::log10(std::max(figures.longest, 1.0))));
  present::Axis axis{"lived longer than", std::pow(10, first), std::pow(10, last), true, {}};
  const double stride = std::ceil((last - first) / kMostTicks);
  for (double decade = first; decade <= last; decade += stride) {
    const double length = std::pow(10, decade);
    axis.ticks.push_back({length, present::duration(present::whole_number(length))});
  }
  return axis;
}

/// Level between steps, falling at each, and level to the end of what was watched.
template <typename ValueOf>
present::Curve stairs(const LifetimeFigures& figures, const present::Axis& axis, std::string name,
                      const ValueOf& value_of) {
  present::Curve curve{std::move(name), {}};
  double before = 100;
  curve.points.push_back({axis.least, before});
  for (const SurvivalStep& step : figures.steps) {
    const double x = std::max(step.length, axis.least);
    curve.points.push_back({x, before});
    before = 100 * value_of(step);
    curve.points.push_back({x, before});
  }
  curve.points.push_back({std::max(figures.longest, axis.least), before});
  return curve;
}

}  // namespace

present::Chart survival_chart(const LifetimeFigures& figures, std::string title) {
  present::Chart chart;
  chart.title = std::move(title);
  chart.x = length_axis(figures);
  chart.y = {"alive, %", 0, 100, false, {{0, "0 %"}, {50, "50 %"}, {100, "100 %"}}};
  chart.curves.push_back(
      stairs(figures, chart.x, "alive", [](const SurvivalStep& s) { return s.alive; }));
  chart.curves.push_back(
      stairs(figures, chart.x, "lower limit", [](const SurvivalStep& s) { return s.band.lo; }));
  chart.curves.push_back(
      stairs(figures, chart.x, "upper limit", [](const SurvivalStep& s) { return s.band.hi; }));
  return chart;
}

std::string to_svg(const LifetimesReport& report) {
  present::Sheet sheet;
  sheet.title = "How long objects live";
  sheet.subtitle =
      fmt::format("{} from {}, limits at {}",
                  present::figure(report.whole.allocated.bytes, present::Quantity::kBytes).text(),
                  present::plural(report.whole.allocated.samples, "sample"),
                  present::level_text(report.options.level));
  sheet.columns = 2;
  sheet.charts = {survival_chart(report.whole.bytes, "share of the bytes alive"),
                  survival_chart(report.whole.objects, "share of the objects alive")};
  return present::draw_svg(sheet);
}

namespace {

using profile::LifetimeGrouping;

constexpr std::size_t kPlotRows = 9;
constexpr std::size_t kGap = 4;

std::string heading(const LifetimesReport& report, const present::Style& style) {
  const LifetimesOptions& options = report.options;
  std::string title = "Lifetimes";
  if (options.selection.observed_only) title += " of objects seen being freed";
  if (!options.scope.when.empty()) title += " of objects " + present::printable(options.scope.when);
  if (options.by != LifetimeGrouping::kWhole) title += fmt::format(", by {}", name_of(options.by));
  const std::string only = present::only_text(options.scope);
  return fmt::format(
      "{}{}{}: {} from {}, {} intervals\n\n", present::paint(style, present::Role::kHeading, title),
      only.empty() ? "" : "; ", only,
      present::figure(report.whole.allocated.bytes, present::Quantity::kBytes).text(),
      present::plural(report.whole.allocated.samples, "sample"), present::level_text(style.level));
}

std::string whole_table(const LifetimesReport& report, const present::Style& style) {
  std::vector<present::Column> columns{{"freed", present::Align::kLeft, false}};
  present::append_figure_columns(columns, "of bytes");
  present::append_figure_columns(columns, "of objects");
  present::Grid grid(std::move(columns), 2);
  const LifetimeFigures& bytes = report.whole.bytes;
  const LifetimeFigures& objects = report.whole.objects;
  for (std::size_t i = 0; i < kFreedShares.size(); ++i) {
    std::vector<std::string> cells{fmt::format("{:.0f} % after", 100 * kFreedShares[i])};
    present::append_figure(cells, length_figure(bytes.quantiles[i], bytes.longest));
    present::append_figure(cells, length_figure(objects.quantiles[i], objects.longest));
    grid.add(std::move(cells));
  }
  std::vector<std::string> cells{"within " + present::duration(report.options.temporary)};
  present::append_figure(cells, present::figure(bytes.temporary));
  present::append_figure(cells, present::figure(objects.temporary));
  grid.add(std::move(cells));
  return grid.text(style);
}

std::string fact(std::string_view name, const std::optional<present::Share>& share) {
  if (!share) return "";
  return fmt::format("  {}  {}\n", present::pad_right(name, 26), present::figure(*share).text());
}

std::string facts(const LifetimesReport& report) {
  return "\n" + fact("bytes never freed", report.whole.never_freed) +
         fact("freed by another thread", report.whole.other_thread) +
         fact("freed on another CPU", report.whole.other_cpu);
}

std::string pictures(const LifetimesReport& report, const present::Style& style) {
  const std::size_t columns = (std::min<std::size_t>(style.width, 120) - kGap) / 2;
  const auto draw = [&](const LifetimeFigures& figures, const char* title) {
    return present::draw_dots(survival_chart(figures, title), columns, kPlotRows,
                              style.has_unicode);
  };
  return "\n" + present::beside(draw(report.whole.bytes, "share of the bytes alive, with limits"),
                                draw(report.whole.objects, "share of the objects alive"), kGap);
}

std::string groups_table(const LifetimesReport& report, const present::Style& style) {
  const profile::GroupBy by = present::named_like(report.options.by);
  const auto add = [&](present::Grid& grid, std::vector<std::string> cells,
                       const LifetimeRow& row) {
    present::add_row(grid, std::move(cells), row.it.name, row.it.detail, by, style, false,
                     row.it.where);
  };
  return present::fitting_grid(rows_of(report), style, add, present::kLittleRoomBesideAll)
      .text(style);
}

std::string rows(const LifetimesReport& report, const present::Style& style) {
  if (report.lines.empty()) return "";
  std::string out = "\n" + groups_table(report, style);
  if (report.groups <= report.lines.size()) return out;
  const std::uint64_t more = report.groups - report.lines.size();
  return out + fmt::format("\n{} more. --top 0 shows all.\n", present::exact_count(more));
}

std::string free_places(const LifetimesReport& report, const present::Style& style) {
  if (report.freed_at.empty()) return "";
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "freed bytes");
  columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"freed by", present::Align::kLeft, false});
  present::Grid grid(std::move(columns));
  for (const FreedAt& place : report.freed_at) {
    std::vector<std::string> cells;
    present::append_figure(cells, present::figure(place.share));
    cells.push_back(present::exact_count(place.samples));
    cells.push_back(present::printable(place.name));
    const std::string where = present::printable(text_of(place.where));
    grid.add(std::move(cells), where.empty() ? present::callers_text(place.detail, style) : where);
    grid.name(place.name, "", place.where.line);
  }
  std::string out = fmt::format(
      "\n{}\n{}", present::paint(style, present::Role::kHeading, "Where objects are freed"),
      grid.text(style));
  if (report.freed_at_count <= report.freed_at.size()) return out;
  return out + fmt::format("\n{} more.\n",
                           present::exact_count(report.freed_at_count - report.freed_at.size()));
}

/// Of the rows and of where objects are freed.
std::string unnamed_functions(const LifetimesReport& report, const present::Style& style) {
  present::UnnamedModules unnamed(report.absent);
  if (present::is_named_by_functions(present::named_like(report.options.by))) {
    for (const LifetimeLine& line : report.lines) unnamed.see(line.name);
  }
  for (const FreedAt& place : report.freed_at) unnamed.see(place.name);
  return unnamed.note(style.width);
}

std::string not_looked_at(const LifetimesReport& report) {
  const present::Scope& scope = report.options.scope;
  const std::string part = present::incomplete_text(scope.lacks);
  return part + (part.empty() ? "" : "\n") +
         present::not_looked_at(report.whole.allocated.bytes.open, scope);
}

std::string notes(const LifetimesReport& report, const present::Style& style) {
  std::string out = fmt::format(
      "Lifetimes are weighted by bytes. Temporary: freed within {}. > : longer than recorded.\n",
      present::duration(report.options.temporary));
  if (report.options.selection.observed_only) {
    out +=
        "Objects alive at the end are left out, so short lifetimes are over-represented: a "
        "recording of one mean lifetime shows 28 % of the true mean, one of twenty shows 95 %.\n";
  }
  if (report.unseen_frees > 0) {
    out += fmt::format("{} noticed late: these lifetimes are upper limits.\n",
                       report.unseen_frees == 1
                           ? "The free of 1 sample was"
                           : fmt::format("The frees of {} samples were",
                                         present::exact_count(report.unseen_frees)));
  }
  if (report.allocated_before > 0) {
    out += fmt::format("{} allocated before the recording began and left out.\n",
                       present::plural(report.allocated_before, "sample") +
                           (report.allocated_before == 1 ? " was" : " were"));
  }
  out += not_looked_at(report);
  if (report.dropped_frees > 0) {
    out += fmt::format("{} not be recorded: their objects count as alive.\n",
                       present::plural(report.dropped_frees, "free") + " could");
  }
  out += unnamed_functions(report, style);
  return "\n" + present::paint(style, present::Role::kFaint, present::wrap_lines(out, style.width));
}

}  // namespace

std::string to_text(const LifetimesReport& report, const present::Style& style) {
  std::string out = heading(report, style);
  if (report.whole.allocated.samples == 0) {
    const std::string open = not_looked_at(report);
    return out +
           (open.empty() ? "No samples among them. Record with a smaller --interval.\n" : open);
  }
  return out + whole_table(report, style) + facts(report) + pictures(report, style) +
         rows(report, style) + free_places(report, style) + notes(report, style);
}

}  // namespace geiger::report
