#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/estimators.h"
#include "analysis/report/format.h"
#include "analysis/report/function_names.h"
#include "analysis/report/grid.h"
#include "analysis/report/heading.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using estimation::Estimate;

/// A number that nothing is known of but itself: whole bytes or objects.
std::string plain(double value, Quantity quantity) {
  return quantity == Quantity::kBytes ? exact_bytes(whole_number(value))
                                      : exact_count(whole_number(value));
}

Figure figure_of(const EstimatorLine& line, const EstimatorTable& table, Quantity quantity) {
  if (!line.variance) return {plain(line.value, quantity), "none: biased"};
  if (line.interval) {
    return figure(Estimate{line.value, *line.variance, *line.interval, table.samples, 0}, quantity);
  }
  const bool is_certain = table.samples == 0 && table.certain_samples > 0;
  return {plain(line.value, quantity), is_certain ? "" : "no interval"};
}

std::string error_text(const EstimatorLine& line) {
  return line.error ? fmt::format("{:+.1f} %", *line.error * 100) : "";
}

Grid grid_of(const EstimatorTable& table, const std::vector<EstimatorLine>& lines,
             Quantity quantity) {
  const bool has_errors =
      std::any_of(lines.begin(), lines.end(), [](const auto& line) { return bool(line.error); });
  std::vector<Column> columns{{"estimator", Align::kLeft, false}};
  append_figure_columns(columns, quantity == Quantity::kBytes ? "bytes" : "objects");
  if (has_errors) columns.push_back({"off by", Align::kRight, false});
  columns.push_back({"why", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  for (const EstimatorLine& line : lines) {
    std::vector<std::string> cells{std::string(line.name)};
    append_figure(cells, figure_of(line, table, quantity));
    if (has_errors) cells.push_back(error_text(line));
    cells.emplace_back(line.why);
    grid.add(std::move(cells));
  }
  return grid;
}

std::string average_text(const EstimatorTable& table) {
  if (!table.average_size) return "";
  const estimation::AverageSize& average = *table.average_size;
  const Estimate estimate{average.value, average.variance, average.interval,
                          std::max<std::uint64_t>(table.samples, 1), 0};
  return fmt::format("  average size {} per object, given the sizes seen{}\n",
                     figure(estimate, Quantity::kBytes).text(),
                     average.is_bound ? "; a bound, for fewer than 30 samples" : "");
}

std::string section(const EstimatorTable& table, std::string_view title, const Style& style) {
  return fmt::format("\n{}\n{}{}{}", paint(style, Role::kHeading, title),
                     grid_of(table, table.bytes, Quantity::kBytes).text(style),
                     grid_of(table, table.objects, Quantity::kObjects).text(style),
                     average_text(table));
}

std::string intervals(const EstimatorsReport& report, const Style& style) {
  std::vector<Column> columns{{"interval", Align::kLeft, false},
                              {"from", Align::kRight, false},
                              {"to", Align::kRight, false}};
  if (report.exact) columns.push_back({"holds", Align::kLeft, false});
  columns.push_back({"why", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  for (const IntervalLine& line : report.intervals) {
    std::vector<std::string> cells{std::string(line.name), "none", ""};
    if (line.interval) {
      cells[1] = exact_bytes(whole_number(std::floor(line.interval->lo)));
      cells[2] = exact_bytes(whole_number(std::ceil(line.interval->hi)));
    }
    if (report.exact) cells.emplace_back(!line.holds ? "" : *line.holds ? "yes" : "no");
    cells.emplace_back(line.why);
    grid.add(std::move(cells));
  }
  return fmt::format(
      "\n{}\n{}",
      paint(style, Role::kHeading,
            fmt::format("{} intervals for the bytes of the whole run", level_text(report.level))),
      grid.text(style));
}

std::string sizes(const EstimatorsReport& report, const Style& style) {
  if (report.sizes.empty()) return "";
  std::vector<Column> columns{{"size", Align::kRight, false}};
  append_figure_columns(columns, "objects");
  columns.push_back({"samples", Align::kRight, false});
  columns.push_back({"drawn with T", Align::kRight, false});
  Grid grid(std::move(columns), 2);
  for (const SizeLine& line : report.sizes) {
    std::vector<std::string> cells{exact_bytes(line.size)};
    append_figure(cells, figure(line.objects, Quantity::kObjects));
    cells.push_back(exact_count(line.objects.samples));
    cells.push_back(exact_bytes(line.interval));
    grid.add(std::move(cells));
  }
  return fmt::format("\n{}\n{}",
                     paint(style, Role::kHeading, "Objects of one size, by exact limits"),
                     grid.text(style));
}

std::string heading(const EstimatorsReport& report, const Style& style) {
  std::string title = text_of(report.scope, report.kind) + ", by every design's estimator";
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  const std::string only = only_text(report.scope);
  std::string out =
      fmt::format("{}{}{}: {}, {} of them certain, the same in every line\n",
                  paint(style, Role::kHeading, title), only.empty() ? "" : "; ", only,
                  plural(report.whole.samples + report.whole.certain_samples, "sample"),
                  exact_count(report.whole.certain_samples));
  out += report.exact ? fmt::format("{} exactly; {} intervals\n", exact_bytes(*report.exact),
                                    level_text(report.level))
                      : fmt::format("the exact total is not known; {} intervals\n",
                                    level_text(report.level));
  if (report.impossible == 0) return out;
  return out + fmt::format("{} left out of the other designs: drawn behind the object's end\n",
                           plural(report.impossible, "sample"));
}

}  // namespace

std::string to_text(const EstimatorsReport& report, const Style& style) {
  std::string out = heading(report, style);
  out +=
      section(report.whole, "Whole run", style) + intervals(report, style) + sizes(report, style);
  for (const EstimatorTable& site : report.sites) {
    std::string title = function_text(site.name, style.width, style);
    if (!site.detail.empty()) title += " < " + callers_text(site.detail, style);
    out += section(site, style.names == Names::kFull ? title : elide(title, style.width), style);
  }
  return out;
}

}  // namespace geiger::report
