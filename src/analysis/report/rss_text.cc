#include <fmt/format.h>

#include <algorithm>

#include "analysis/profile/labels.h"
#include "analysis/report/dots.h"
#include "analysis/report/format.h"
#include "analysis/report/grid.h"
#include "analysis/report/rss.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

constexpr std::size_t kPlotRows = 10;
constexpr std::size_t kPlotColumns = 100;

std::string heading(const RssReport& report, const profile::Recording& recording,
                    const Style& style) {
  const profile::Process& process = recording.processes[report.process];
  const std::string name = printable(profile::program_name(process));
  std::string out = paint(style, Role::kHeading, name);
  out += fmt::format(", pid {}: RSS {}, {} after the start", process.pid,
                     exact_bytes(report.resident), duration(report.after));
  if (report.options.moment == profile::Moment::kLast) {
    out += ", when it was read last";
  } else if (report.high_water > report.resident) {
    out += fmt::format("; its maximum was {}", exact_bytes(report.high_water));
  }
  return out + "\n" +
         paint(style, Role::kFaint,
               fmt::format("± and [ ] are {} intervals; what has none is exact",
                           level_text(style.level))) +
         "\n\n";
}

std::string rows(const RssReport& report, const Style& style) {
  std::vector<Column> columns;
  append_figure_columns(columns, "resident");
  append_figure_columns(columns, "share");
  columns.push_back({"", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  const auto add = [&](const Figure& bytes, const Figure& share, std::string_view text) {
    std::vector<std::string> cells;
    append_figure(cells, bytes);
    append_figure(cells, share);
    cells.emplace_back(text);
    grid.add(std::move(cells));
  };
  for (const RssRow& row : report.rows) {
    const bool is_estimate = row.bytes.interval.hi > row.bytes.interval.lo;
    if (row.bytes.value == 0 && !is_estimate) continue;
    const Bytes exact = whole_number(row.bytes.value);
    add(is_estimate ? figure(row.bytes, Quantity::kBytes) : Figure{exact_bytes(exact), ""},
        is_estimate ? figure(row.share) : Figure{exact_share(exact, report.resident), ""},
        text_of(row.part));
  }
  add({exact_bytes(report.resident), ""}, {"100 %", ""}, "RSS");
  return grid.text(style);
}

std::string live_lines(const RssReport& report) {
  const auto text = [](const Measure& measure) {
    return figure(measure.bytes, Quantity::kBytes).text();
  };
  if (!report.residency_fault.empty()) {
    return fmt::format(
        "\nLive objects at that instant: {}, all taken to be resident\n"
        "(where they lay is not known: {}).\n",
        text(report.live), report.residency_fault);
  }
  return fmt::format(
      "\nLive objects at that instant: {}; resident {}, swapped out {}, never touched {}.\n",
      text(report.live), text(report.live_resident), text(report.live_swapped),
      text(report.live_untouched));
}

Chart chart_of(const RssReport& report) {
  Chart chart;
  const auto& series = report.series;
  const Nanoseconds first = series.front().time;
  const double seconds = static_cast<double>(series.back().time - first) / 1e9;
  double most = 0;
  Curve curve{"RSS", {}};
  for (const profile::SeriesPoint& point : series) {
    const auto resident = static_cast<double>(point.counts.resident);
    most = std::max(most, resident);
    curve.points.push_back({static_cast<double>(point.time - first) / 1e9, resident});
  }
  chart.title = "RSS over time";
  const auto last = static_cast<Nanoseconds>(seconds * 1e9);
  chart.x = {"", 0, std::max(seconds, 1e-3), false, {{0, "0"}, {seconds, duration(last)}}};
  chart.y = {"", 0, std::max(most, 1.0), false, {{0, "0"}}};
  chart.y.ticks.push_back({most, exact_bytes(static_cast<Bytes>(most))});
  chart.curves.push_back(std::move(curve));
  return chart;
}

std::string picture(const RssReport& report, const Style& style) {
  if (report.series.size() < 3) return "";
  const std::size_t columns = std::min(style.width, kPlotColumns);
  const auto lines = draw_dots(chart_of(report), columns, kPlotRows, style.has_unicode);
  return "\n" + beside(lines, {}, 0);
}

std::string footer(const RssReport& report, const Style& style) {
  std::string out;
  if (report.swapped > 0) out += fmt::format("Swapped out: {}.\n", exact_bytes(report.swapped));
  if (report.refused > 0) {
    out += fmt::format("{} of the process failed.\n", plural(report.refused, "reading"));
  }
  const std::string run =
      report.options.run.empty() ? "" : fmt::format(" {}", printable(report.options.run));
  out += fmt::format(
      "next: geiger table{0} --kind resident   or   geiger table{0} --kind "
      "live-overhead\n",
      run);
  return "\n" + paint(style, Role::kFaint, out);
}

}  // namespace

std::string to_text(const RssReport& report, const profile::Recording& recording,
                    const Style& style) {
  return heading(report, recording, style) + rows(report, style) + live_lines(report) +
         picture(report, style) + footer(report, style);
}

}  // namespace geiger::report
