#include "analysis/report/plan/plan_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/format.h"
#include "analysis/present/charts/svg.h"

namespace geiger::report {
namespace {

constexpr int kPoints = 160;

std::string size_text(double bytes) { return present::exact_bytes(present::whole_number(bytes)); }

double error_of(double interval, double bytes) {
  const std::vector<estimation::Objects> bytewise{{1, bytes}};
  return estimation::expected(bytewise, interval, false).relative_error;
}

double least_interval(const PlanReport& report) { return report.intervals.front().interval; }
double most_interval(const PlanReport& report) { return report.intervals.back().interval; }

/// A logarithmic axis of bytes with a tick at every `step`-fold of its least.
present::Axis bytes_axis(std::string label, double least, double most, double step) {
  present::Axis axis{std::move(label), least, most, true, {}};
  for (double bytes = least; bytes <= most * 1.0001; bytes *= step) {
    axis.ticks.push_back({bytes, size_text(bytes)});
  }
  return axis;
}

/// A curve for each interval through `y(interval, x)` at points along the axis.
template <typename Height>
void add_curves(present::Chart& chart, const PlanReport& report, const Height& y) {
  const present::Axis& axis = chart.x;
  for (const IntervalOutlook& one : report.intervals) {
    present::Curve curve{size_text(one.interval), {}};
    for (int i = 0; i <= kPoints; ++i) {
      const double place = static_cast<double>(i) / kPoints;
      const double x = axis.is_logarithmic ? axis.least * std::pow(axis.most / axis.least, place)
                                           : axis.least + (axis.most - axis.least) * place;
      if (const double height = y(one.interval, x); height > 0 || !chart.y.is_logarithmic) {
        curve.points.push_back({x, height});
      }
    }
    chart.curves.push_back(std::move(curve));
  }
}

}  // namespace

present::Chart chance_chart(const PlanReport& report) {
  constexpr double kMost = 6;
  const bool is_one = report.intervals.size() == 1;
  present::Chart chart;
  chart.title = "chance to see N bytes";
  if (is_one) {
    chart.x = {
        fmt::format("N, in intervals of {}", size_text(report.interval)), 0, kMost, false, {}};
    for (int i = 0; i <= 6; ++i) chart.x.ticks.push_back({double(i), std::to_string(i)});
  } else {
    chart.x = bytes_axis("N", least_interval(report) / 10, most_interval(report) * 10, 10);
  }
  chart.y = {"chance, %", 0, 100, false, {{0, "0 %"}, {50, "50 %"}, {100, "100 %"}}};
  add_curves(chart, report, [&](double interval, double x) {
    return 100 * estimation::chance_to_see(is_one ? x * interval : x, interval);
  });
  chart.reference = 95;
  return chart;
}

present::Chart error_chart(const PlanReport& report) {
  present::Chart chart;
  chart.title = "relative error of N bytes";
  const double step = report.intervals.size() == 1 ? 10 : 1000;
  chart.x = bytes_axis("N", least_interval(report), 1e4 * most_interval(report), step);
  chart.y = {"standard deviation, %", 1, 100, true, {{1, "1 %"}, {10, "10 %"}, {100, "100 %"}}};
  add_curves(chart, report,
             [](double interval, double bytes) { return 100 * error_of(interval, bytes); });
  return chart;
}

present::Chart object_chart(const PlanReport& report) {
  constexpr double kLeastError = 0.1;
  const double most = std::max(2.0, most_interval(report));
  present::Chart chart;
  chart.title = "error of one sampled object";
  chart.x = bytes_axis("its size", 1, most, 64);
  chart.y = {"error over size", kLeastError, most, true, {}};
  for (int power = -1; std::pow(10, power) <= most; power += 2) {
    chart.y.ticks.push_back({std::pow(10, power), power < 3
                                                      ? fmt::format("{:g}", std::pow(10, power))
                                                      : fmt::format("1e{}", power)});
  }
  add_curves(chart, report, [](double interval, double size) {
    return estimation::error_of_sampled_object(size, interval);
  });
  return chart;
}

std::string to_svg(const PlanReport& report) {
  present::Sheet sheet;
  sheet.title = report.intervals.size() == 1
                    ? fmt::format("What an interval of {} shows", size_text(report.interval))
                    : "What these intervals show";
  sheet.subtitle =
      "small objects in the first two; of larger ones the chance is the same and the error smaller";
  sheet.reference_name = "95 % (three intervals)";
  sheet.columns = 2;
  sheet.charts = {chance_chart(report), error_chart(report), object_chart(report)};
  return present::draw_svg(sheet);
}

}  // namespace geiger::report
