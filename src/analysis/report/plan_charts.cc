#include "analysis/report/plan_charts.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/report/format.h"
#include "analysis/report/svg.h"

namespace geiger::report {
namespace {

constexpr int kPoints = 160;

std::string scaled(const PlanReport& report, double multiple) {
  return exact_bytes(whole_number(multiple * report.interval));
}

double error_of(const PlanReport& report, double bytes) {
  const std::vector<estimation::Objects> bytewise{{1, bytes}};
  return estimation::expected(bytewise, report.interval, false).relative_error;
}

}  // namespace

Chart chance_chart(const PlanReport& report) {
  constexpr double kMost = 6;
  Chart chart;
  chart.title = "chance to see N bytes";
  chart.x = {fmt::format("N, in intervals of {}", scaled(report, 1)), 0, kMost, false, {}};
  for (int i = 0; i <= 6; ++i) chart.x.ticks.push_back({double(i), std::to_string(i)});
  chart.y = {"chance, %", 0, 100, false, {{0, "0 %"}, {50, "50 %"}, {100, "100 %"}}};
  Curve curve{"chance", {}};
  for (int i = 0; i <= kPoints; ++i) {
    const double multiple = kMost * i / kPoints;
    curve.points.push_back(
        {multiple, 100 * estimation::chance_to_see(multiple * report.interval, report.interval)});
  }
  chart.curves.push_back(std::move(curve));
  chart.reference = 95;
  return chart;
}

Chart error_chart(const PlanReport& report) {
  constexpr double kLeast = 1, kMost = 1e4;
  Chart chart;
  chart.title = "relative error of N bytes";
  chart.x = {"N", kLeast * report.interval, kMost * report.interval, true, {}};
  for (const double multiple : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
    chart.x.ticks.push_back({multiple * report.interval, scaled(report, multiple)});
  }
  chart.y = {"standard deviation, %", 1, 100, true, {{1, "1 %"}, {10, "10 %"}, {100, "100 %"}}};
  Curve curve{"relative error", {}};
  for (int i = 0; i <= kPoints; ++i) {
    const double bytes =
        report.interval * kLeast * std::pow(kMost / kLeast, static_cast<double>(i) / kPoints);
    curve.points.push_back({bytes, 100 * error_of(report, bytes)});
  }
  chart.curves.push_back(std::move(curve));
  return chart;
}

std::string to_svg(const PlanReport& report) {
  Sheet sheet;
  sheet.title = fmt::format("What an interval of {} shows", scaled(report, 1));
  sheet.subtitle = "small objects; of larger ones the chance is the same and the error smaller";
  sheet.reference_name = "95 % (three intervals)";
  sheet.columns = 2;
  sheet.charts = {chance_chart(report), error_chart(report)};
  return draw_svg(sheet);
}

}  // namespace geiger::report
