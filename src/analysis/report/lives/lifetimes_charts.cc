#include "analysis/report/lives/lifetimes_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/present/charts/svg.h"
#include "analysis/present/format.h"

namespace geiger::report {
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

}  // namespace geiger::report
