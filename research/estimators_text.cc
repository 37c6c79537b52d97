#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "research/estimators.h"

namespace geiger::research {
namespace {

using estimation::Estimate;

/// A number that nothing is known of but itself: whole bytes or objects.
std::string plain(double value, present::Quantity quantity) {
  return quantity == present::Quantity::kBytes ? present::exact_bytes(present::whole_number(value))
                                               : present::exact_count(present::whole_number(value));
}

present::Figure figure_of(const EstimatorLine& line, const EstimatorTable& table,
                          present::Quantity quantity) {
  if (!line.variance) return {plain(line.value, quantity), "none: biased"};
  if (line.interval) {
    return present::figure(Estimate{line.value, *line.variance, *line.interval, table.samples, 0},
                           quantity);
  }
  const bool is_certain = table.samples == 0 && table.certain_samples > 0;
  return {plain(line.value, quantity), is_certain ? "" : "no interval"};
}

std::string error_text(const EstimatorLine& line) {
  return line.error ? fmt::format("{:+.1f} %", *line.error * 100) : "";
}

present::Grid grid_of(const EstimatorTable& table, const std::vector<EstimatorLine>& lines,
                      present::Quantity quantity) {
  const bool has_errors =
      std::any_of(lines.begin(), lines.end(), [](const auto& line) { return bool(line.error); });
  std::vector<present::Column> columns{{"estimator", present::Align::kLeft, false}};
  present::append_figure_columns(columns,
                                 quantity == present::Quantity::kBytes ? "bytes" : "objects");
  if (has_errors) columns.push_back({"off by", present::Align::kRight, false});
  columns.push_back({"why", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const EstimatorLine& line : lines) {
    std::vector<std::string> cells{std::string(line.name)};
    present::append_figure(cells, figure_of(line, table, quantity));
    if (has_errors) cells.push_back(error_text(line));
    cells.emplace_back(line.why);
    grid.add(std::move(cells));
  }
  return grid;
}

std::string average_text(const EstimatorTable& table) {
  if (!table.average_size) return "";
  const AverageSize& average = *table.average_size;
  const Estimate estimate{average.value, average.variance, average.interval,
                          std::max<std::uint64_t>(table.samples, 1), 0};
  return fmt::format("  average size {} per object, given the sizes seen{}\n",
                     present::figure(estimate, present::Quantity::kBytes).text(),
                     average.is_bound ? "; a bound, for fewer than 30 samples" : "");
}

std::string section(const EstimatorTable& table, std::string_view title,
                    const present::Style& style) {
  return fmt::format("\n{}\n{}{}{}", present::paint(style, present::Role::kHeading, title),
                     grid_of(table, table.bytes, present::Quantity::kBytes).text(style),
                     grid_of(table, table.objects, present::Quantity::kObjects).text(style),
                     average_text(table));
}

std::string intervals(const EstimatorsReport& report, const present::Style& style) {
  std::vector<present::Column> columns{{"interval", present::Align::kLeft, false},
                                       {"from", present::Align::kRight, false},
                                       {"to", present::Align::kRight, false}};
  if (report.exact) columns.push_back({"holds", present::Align::kLeft, false});
  columns.push_back({"why", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const IntervalLine& line : report.intervals) {
    std::vector<std::string> cells{std::string(line.name), "none", ""};
    if (line.interval) {
      cells[1] = present::exact_bytes(present::whole_number(std::floor(line.interval->lo)));
      cells[2] = present::exact_bytes(present::whole_number(std::ceil(line.interval->hi)));
    }
    if (report.exact) cells.emplace_back(!line.holds ? "" : *line.holds ? "yes" : "no");
    cells.emplace_back(line.why);
    grid.add(std::move(cells));
  }
  return fmt::format("\n{}\n{}",
                     present::paint(style, present::Role::kHeading,
                                    fmt::format("{} intervals for the bytes of the whole run",
                                                present::level_text(report.level))),
                     grid.text(style));
}

std::string sizes(const EstimatorsReport& report, const present::Style& style) {
  if (report.sizes.empty()) return "";
  std::vector<present::Column> columns{{"size", present::Align::kRight, false}};
  present::append_figure_columns(columns, "objects");
  columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"drawn with T", present::Align::kRight, false});
  present::Grid grid(std::move(columns), 2);
  for (const SizeLine& line : report.sizes) {
    std::vector<std::string> cells{present::exact_bytes(line.size)};
    present::append_figure(cells, present::figure(line.objects, present::Quantity::kObjects));
    cells.push_back(present::exact_count(line.objects.samples));
    cells.push_back(present::exact_bytes(line.interval));
    grid.add(std::move(cells));
  }
  return fmt::format(
      "\n{}\n{}",
      present::paint(style, present::Role::kHeading, "Objects of one size, by exact limits"),
      grid.text(style));
}

std::string heading(const EstimatorsReport& report, const present::Style& style) {
  std::string title = text_of(report.scope, report.kind) + ", by every design's estimator";
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  const std::string only = present::only_text(report.scope);
  std::string out = fmt::format(
      "{}{}{}: {}, {} of them certain, the same in every line\n",
      present::paint(style, present::Role::kHeading, title), only.empty() ? "" : "; ", only,
      present::plural(report.whole.samples + report.whole.certain_samples, "sample"),
      present::exact_count(report.whole.certain_samples));
  out += report.exact
             ? fmt::format("{} exactly; {} intervals\n", present::exact_bytes(*report.exact),
                           present::level_text(report.level))
             : fmt::format("the exact total is not known; {} intervals\n",
                           present::level_text(report.level));
  if (report.impossible == 0) return out;
  return out + fmt::format(
                   "{} left out of the other designs: the sampled byte is past the object's end\n",
                   present::plural(report.impossible, "sample"));
}

}  // namespace

std::string to_text(const EstimatorsReport& report, const present::Style& style) {
  std::string out = heading(report, style);
  out +=
      section(report.whole, "Whole run", style) + intervals(report, style) + sizes(report, style);
  for (const EstimatorTable& site : report.sites) {
    std::string title = present::function_text(site.name, style.width, style);
    if (!site.detail.empty()) title += " < " + present::callers_text(site.detail, style);
    out += section(
        site, style.names == present::Names::kFull ? title : present::elide(title, style.width),
        style);
  }
  return out;
}

}  // namespace geiger::research
