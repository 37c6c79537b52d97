#include "research/coverage_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/charts/chart.h"
#include "analysis/present/format.h"
#include "analysis/present/json.h"
#include "analysis/present/text.h"

namespace geiger::research {
namespace {

using estimation::Interval;

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

std::string heading_line(const CoverageReport& report, std::string_view name,
                         const present::Style& style) {
  std::string out =
      present::paint(style, present::Role::kHeading, present::pad_right(name, kNameWidth));
  for (const double samples : report.samples) {
    out += present::pad_left(fmt::format("{:.4g} ", samples), kCellWidth + 1);
  }
  return line_of(std::move(out));
}

/// A line for each of `Name`'s values; `cells` are arrays of their tallies.
template <typename Name, typename Cell, typename CellText>
std::string block(const CoverageReport& report, std::string_view heading,
                  const std::vector<Cell>& cells, const present::Style& style,
                  const CellText& text) {
  std::string out = heading_line(report, heading, style);
  for (std::size_t row = 0; row < Cell{}.size(); ++row) {
    std::string line = present::pad_right(name_of(static_cast<Name>(row)), kNameWidth);
    for (const Cell& cell : cells) {
      const std::string figure = present::pad_left(text(cell[row]), kCellWidth + 1);
      line +=
          figure.ends_with('!') ? present::paint(style, present::Role::kWarning, figure) : figure;
    }
    out += line_of(std::move(line));
  }
  return out + "\n";
}

template <typename CellText>
std::string blocks_of_mixes(const CoverageReport& report, const present::Style& style,
                            const CellText& text) {
  std::string out;
  for (const MixRow& row : report.mixes) {
    out += block<Method>(report, name_of(row.mix), row.cells, style, text);
  }
  return out;
}

template <typename CellText>
std::string blocks_of_patterns(const CoverageReport& report, const present::Style& style,
                               const CellText& text) {
  std::string out;
  for (const PatternRow& row : report.patterns) {
    out += block<Scheme>(report, name_of(row.pattern), row.cells, style, text);
  }
  return out;
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
  for (const PatternRow& row : report.patterns) {
    for (const PatternTally& cell : row.cells) {
      for (const SchemeTally& tally : cell) most = std::max(most, figure_of(tally.intervals));
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
  return report.settings.has_certain ? "objects of T and more certain"
                                     : "each byte sampled independently";
}

std::string setting_text(const CoverageReport& report) {
  std::string text = fmt::format(
      "{}, seed {}", present::plural(report.settings.replicates, "replicate") + " a cell",
      report.settings.seed);
  // Schemes of patterns try other bytes, or none.
  return report.mixes.empty() ? text : text + ", " + process_text(report);
}

void write_tally(present::JsonWriter& json, const MethodTally& tally, double level) {
  const Interval interval = tally.coverage_interval(level);
  json.field("replicates", tally.counted);
  json.key("coverage").begin_object().field("value", tally.coverage());
  json.field("lo", interval.lo).field("hi", interval.hi).end_object();
  json.field("missed_below", tally.missed_below).field("missed_above", tally.missed_above);
  json.field("mean_width", tally.mean_width());
  json.field("mean_width_error", tally.mean_width_error());
}

void write_mix(present::JsonWriter& json, const CoverageReport& report, const MixRow& row) {
  json.begin_object().field("mix", name_of(row.mix)).key("cells").begin_array();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    json.begin_object().field("expected_samples", report.samples[i]).key("methods").begin_array();
    for (std::size_t method = 0; method < kMethods; ++method) {
      json.begin_object().field("method", name_of(static_cast<Method>(method)));
      write_tally(json, row.cells[i][method], report.settings.level);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void write_pattern(present::JsonWriter& json, const CoverageReport& report, const PatternRow& row) {
  json.begin_object().field("pattern", name_of(row.pattern)).key("cells").begin_array();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    json.begin_object().field("expected_samples", report.samples[i]).key("schemes").begin_array();
    for (std::size_t scheme = 0; scheme < row.cells[i].size(); ++scheme) {
      const SchemeTally& tally = row.cells[i][scheme];
      json.begin_object().field("scheme", name_of(static_cast<Scheme>(scheme)));
      write_tally(json, tally.intervals, report.settings.level);
      json.field("error", tally.error()).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

/// An empty chart: expected samples against coverage.
present::Chart axes_of(const CoverageReport& report, std::string_view title, double least) {
  present::Chart chart;
  chart.title = title;
  chart.x = {
      "expected samples", report.samples.front() / 1.2, report.samples.back() * 1.2, true, {}};
  for (const double value : {0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0}) {
    if (value >= chart.x.least && value <= chart.x.most) {
      chart.x.ticks.push_back({value, fmt::format("{:.4g}", value)});
    }
  }
  chart.y = {"coverage, %", least, 100, false, {}};
  for (const double value : {0.0, 20.0, 40.0, 60.0, 80.0, 100.0}) {
    if (value >= least) chart.y.ticks.push_back({value, fmt::format("{:.0f}", value)});
  }
  chart.reference = 100 * report.settings.level;
  return chart;
}

void add_point(present::Curve& curve, double samples, const MethodTally& tally) {
  if (tally.counted > 0) curve.points.push_back({samples, 100 * tally.coverage()});
}

present::Chart chart_of(const CoverageReport& report, const MixRow& row) {
  present::Chart chart = axes_of(report, name_of(row.mix), 30);
  for (std::size_t method = 0; method < kMethods; ++method) {
    present::Curve curve{std::string(name_of(static_cast<Method>(method))), {}};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      add_point(curve, report.samples[i], row.cells[i][method]);
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

present::Chart chart_of(const CoverageReport& report, const PatternRow& row) {
  present::Chart chart = axes_of(report, name_of(row.pattern), 0);
  for (std::size_t scheme = 0; scheme < kSchemes; ++scheme) {
    present::Curve curve{std::string(name_of(static_cast<Scheme>(scheme))), {}};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      add_point(curve, report.samples[i], row.cells[i][scheme].intervals);
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

std::string patterns_text(const CoverageReport& report, const present::Style& style) {
  if (report.patterns.empty()) return "";
  const double level = report.settings.level;
  std::string out =
      present::paint(style, present::Role::kHeading, "Coverage of FF-SG by sampling scheme, in %");
  out += "; of a quarter of all objects, 16 bytes each\n\n";
  out += blocks_of_patterns(report, style, [&](const SchemeTally& tally) {
    return coverage_cell(tally.intervals, level);
  });
  out += present::paint(style, present::Role::kHeading,
                        "Root mean square error of the estimate, in %") +
         "\n\n";
  return out + blocks_of_patterns(report, style, [](const SchemeTally& tally) {
           return fmt::format("{:.3g} ", 100 * tally.error());
         });
}

}  // namespace

std::string to_text(const CoverageReport& report, const present::Style& style) {
  const double level = report.settings.level;
  std::string out =
      present::paint(style, present::Role::kHeading,
                     fmt::format("Coverage of {} intervals, in %", present::level_text(level))) +
      "\n" +
      present::paint(style, present::Role::kFaint,
                     present::wrap(setting_text(report), 0, style.width)) +
      "\n" +
      present::paint(
          style, present::Role::kFaint,
          present::wrap(
              fmt::format("columns: expected samples; each figure ± {:.1f} at most (95 %); "
                          "! significantly below {:.4g}",
                          100 * widest_half(report), 100 * level),
              0, style.width)) +
      "\n\n";
  out += blocks_of_mixes(report, style,
                         [&](const MethodTally& tally) { return coverage_cell(tally, level); });
  if (report.has_widths && !report.mixes.empty()) {
    out += present::paint(style, present::Role::kHeading, "Mean width, in units of the true bytes");
    out += fmt::format("; each figure ± {:.1f} % at most (2 standard errors)\n\n",
                       200 * largest_width_error(report));
    out += blocks_of_mixes(report, style, width_cell);
  }
  return out + patterns_text(report, style);
}

std::string to_json(const CoverageReport& report) {
  present::JsonWriter json("simulate");
  json.field("level", report.settings.level).field("seed", report.settings.seed);
  json.field("replicates", report.settings.replicates);
  json.field("has_certain", report.settings.has_certain);
  json.field("interval", kTableInterval);
  json.array("mixes", report.mixes, [&](const MixRow& row) { write_mix(json, report, row); });
  json.array("patterns", report.patterns,
             [&](const PatternRow& row) { write_pattern(json, report, row); });
  return json.finish();
}

std::string to_svg(const CoverageReport& report) {
  present::Sheet sheet;
  const std::string level = present::level_text(report.settings.level);
  sheet.title = fmt::format("How often {} intervals contain the truth", level);
  sheet.subtitle = fmt::format("{}; each point ± {:.1f} at most (95 %)", setting_text(report),
                               100 * widest_half(report));
  sheet.reference_name = "nominal, " + level;
  for (const MixRow& row : report.mixes) sheet.charts.push_back(chart_of(report, row));
  if (report.mixes.empty()) {
    for (const PatternRow& row : report.patterns) sheet.charts.push_back(chart_of(report, row));
  }
  sheet.columns = std::min<std::size_t>(3, std::max<std::size_t>(2, sheet.charts.size()));
  return present::draw_svg(sheet);
}

}  // namespace geiger::research
