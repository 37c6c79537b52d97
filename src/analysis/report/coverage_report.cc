#include "analysis/report/coverage_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/format.h"
#include "analysis/report/json.h"
#include "analysis/report/svg.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using estimation::CellTally;
using estimation::Interval;
using estimation::kMethods;
using estimation::Method;
using estimation::MethodTally;

constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kCellWidth = 6;

/// Below its level beyond what chance does to one cell in 20,000.
bool fails(const MethodTally& tally, double level) {
  return tally.counted > 0 && tally.coverage_interval(0.9999).hi < level;
}

std::string coverage_cell(const MethodTally& tally, double level) {
  if (tally.counted == 0) return "- ";
  return fmt::format("{:.1f}{}", 100 * tally.coverage(), fails(tally, level) ? "!" : " ");
}

std::string width_cell(const MethodTally& tally) {
  return tally.counted == 0 ? "- " : fmt::format("{:.3g} ", tally.mean_width());
}

/// Cells keep a column for the mark of a failure; at the end of a line it is empty.
std::string line_of(std::string out) {
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string heading_line(const CoverageReport& report, std::string_view name, const Style& style) {
  std::string out = paint(style, Role::kHeading, pad_right(name, kNameWidth));
  for (const double samples : report.samples) {
    out += pad_left(fmt::format("{:.4g} ", samples), kCellWidth + 1);
  }
  return line_of(std::move(out));
}

template <typename CellText>
std::string block(const CoverageReport& report, const MixRow& row, const Style& style,
                  const CellText& text) {
  std::string out = heading_line(report, name_of(row.mix), style);
  for (std::size_t method = 0; method < kMethods; ++method) {
    std::string line = pad_right(name_of(static_cast<Method>(method)), kNameWidth);
    for (const CellTally& cell : row.cells) {
      const std::string figure = pad_left(text(cell[method]), kCellWidth + 1);
      line += figure.ends_with('!') ? paint(style, Role::kWarning, figure) : figure;
    }
    out += line_of(std::move(line));
  }
  return out + "\n";
}

/// The largest of a figure of each tally that has replicates.
template <typename FigureOf>
double largest(const CoverageReport& report, const FigureOf& figure_of) {
  double most = 0;
  for (const MixRow& row : report.mixes) {
    for (const CellTally& cell : row.cells) {
      for (const MethodTally& tally : cell) {
        if (tally.counted > 0) most = std::max(most, figure_of(tally));
      }
    }
  }
  return most;
}

/// The widest half of a 95 % interval of any coverage in the table.
double widest_half(const CoverageReport& report) {
  return largest(report, [](const MethodTally& tally) {
    const Interval interval = tally.coverage_interval(0.95);
    return std::max(interval.hi - tally.coverage(), tally.coverage() - interval.lo);
  });
}

double largest_width_error(const CoverageReport& report) {
  return largest(report, [](const MethodTally& tally) {
    return tally.mean_width() > 0 ? tally.mean_width_error() / tally.mean_width() : 0;
  });
}

std::string process_text(const CoverageReport& report) {
  return report.settings.has_certain ? "objects of T and more certain" : "every byte put to trial";
}

std::string setting_text(const CoverageReport& report) {
  return fmt::format("{}, seed {}, {}", plural(report.settings.replicates, "replicate") + " a cell",
                     report.settings.seed, process_text(report));
}

void write_method(JsonWriter& json, const MethodTally& tally, Method method, double level) {
  const Interval interval = tally.coverage_interval(level);
  json.begin_object().field("method", name_of(method)).field("replicates", tally.counted);
  json.key("coverage").begin_object().field("value", tally.coverage());
  json.field("lo", interval.lo).field("hi", interval.hi).end_object();
  json.field("missed_below", tally.missed_below).field("missed_above", tally.missed_above);
  json.field("mean_width", tally.mean_width());
  json.field("mean_width_error", tally.mean_width_error()).end_object();
}

void write_mix(JsonWriter& json, const CoverageReport& report, const MixRow& row) {
  json.begin_object().field("mix", name_of(row.mix)).key("cells").begin_array();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    json.begin_object().field("expected_samples", report.samples[i]).key("methods").begin_array();
    for (std::size_t method = 0; method < kMethods; ++method) {
      write_method(json, row.cells[i][method], static_cast<Method>(method), report.settings.level);
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

Chart chart_of(const CoverageReport& report, const MixRow& row) {
  Chart chart;
  chart.title = name_of(row.mix);
  chart.x = {
      "expected samples", report.samples.front() / 1.2, report.samples.back() * 1.2, true, {}};
  for (const double value : {0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0}) {
    if (value >= chart.x.least && value <= chart.x.most) {
      chart.x.ticks.push_back({value, fmt::format("{:.4g}", value)});
    }
  }
  chart.y = {"coverage, %", 30, 100, false, {}};
  for (const double value : {40.0, 60.0, 80.0, 100.0}) {
    chart.y.ticks.push_back({value, fmt::format("{:.0f}", value)});
  }
  chart.reference = 100 * report.settings.level;
  for (std::size_t method = 0; method < kMethods; ++method) {
    Curve curve{std::string(name_of(static_cast<Method>(method))), {}};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const MethodTally& tally = row.cells[i][method];
      if (tally.counted > 0) curve.points.push_back({report.samples[i], 100 * tally.coverage()});
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

}  // namespace

std::string to_text(const CoverageReport& report, const Style& style) {
  const double level = report.settings.level;
  std::string out =
      paint(style, Role::kHeading,
            fmt::format("Coverage of {} intervals, in %", level_text(level))) +
      "\n" + paint(style, Role::kFaint, wrap(setting_text(report), 0, style.width)) + "\n" +
      paint(style, Role::kFaint,
            wrap(fmt::format("columns: expected samples; each figure ± {:.1f} at most (95 %); "
                             "! lies below {:.4g} beyond chance",
                             100 * widest_half(report), 100 * level),
                 0, style.width)) +
      "\n\n";
  for (const MixRow& row : report.mixes) {
    out += block(report, row, style,
                 [&](const MethodTally& tally) { return coverage_cell(tally, level); });
  }
  if (!report.has_widths) return out;
  out += paint(style, Role::kHeading, "Mean width, in units of the true bytes");
  out += fmt::format("; each figure ± {:.1f} % at most (2 standard errors)\n\n",
                     200 * largest_width_error(report));
  for (const MixRow& row : report.mixes) out += block(report, row, style, width_cell);
  return out;
}

std::string to_json(const CoverageReport& report) {
  JsonWriter json;
  json.begin_object().field("schema_version", kSchemaVersion).field("report", "simulate");
  json.field("level", report.settings.level).field("seed", report.settings.seed);
  json.field("replicates", report.settings.replicates);
  json.field("has_certain", report.settings.has_certain);
  json.field("interval", estimation::kTableInterval).key("mixes").begin_array();
  for (const MixRow& row : report.mixes) write_mix(json, report, row);
  json.end_array().end_object();
  return json.take();
}

std::string to_svg(const CoverageReport& report) {
  Sheet sheet;
  const std::string level = level_text(report.settings.level);
  sheet.title = fmt::format("How often {} intervals contain the truth", level);
  sheet.subtitle = fmt::format("{}; each point ± {:.1f} at most (95 %)", setting_text(report),
                               100 * widest_half(report));
  sheet.reference_name = "nominal, " + level;
  sheet.columns = std::min<std::size_t>(3, std::max<std::size_t>(2, report.mixes.size()));
  for (const MixRow& row : report.mixes) sheet.charts.push_back(chart_of(report, row));
  return draw_svg(sheet);
}

}  // namespace geiger::report
