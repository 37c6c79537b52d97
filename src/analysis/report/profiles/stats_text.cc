#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/present/extent.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/names.h"
#include "analysis/present/text.h"
#include "analysis/profile/labels.h"
#include "analysis/report/profiles/stats.h"

namespace geiger::report {
namespace {

using profile::Recording;

constexpr std::size_t kBarWidth = 16;
constexpr std::size_t kLeastBar = 4;

std::string repeated(std::string_view mark, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += mark;
  return out;
}

/// Solid up to the lower limit, light up to the upper one: the error is visible.
std::string bar(const estimation::Estimate& estimate, double largest, std::size_t width) {
  if (!(largest > 0)) return "";
  const auto cells = [&](double value) {
    const double share = std::clamp(value / largest, 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  };
  const std::size_t solid = cells(estimate.interval.lo);
  return repeated("█", solid) + repeated("░", cells(estimate.interval.hi) - solid);
}

std::string section(const present::Style& style, std::string_view title,
                    const present::Grid& grid) {
  return fmt::format("\n{}\n{}", present::paint(style, present::Role::kHeading, title),
                     grid.text(style));
}

/// A row of a grid of measures.
struct MeasureRow {
  std::string name;
  const present::Measure* measure;
};

present::Grid measure_grid(const char* heading, std::span<const MeasureRow> rows, double largest,
                           bool has_samples, std::size_t bar_width) {
  std::vector<present::Column> columns{{heading, present::Align::kLeft, false}};
  present::append_figure_columns(columns, "bytes");
  present::append_figure_columns(columns, "objects");
  if (has_samples) columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const auto& [name, measure] : rows) {
    std::vector<std::string> cells{name};
    present::append_figure(cells, present::figure(measure->bytes, present::Quantity::kBytes));
    present::append_figure(cells, present::objects_figure(*measure));
    if (has_samples) cells.push_back(present::exact_count(measure->samples));
    cells.push_back(measure->samples == 0 ? "" : bar(measure->bytes, largest, bar_width));
    grid.add(std::move(cells));
  }
  return grid;
}

/// With bars as wide as there is room for; on a narrow terminal they go, then the samples.
std::string measures(std::string_view title, const char* heading, std::span<const MeasureRow> rows,
                     double largest, const present::Style& style) {
  bool has_samples = true;
  std::size_t room = measure_grid(heading, rows, largest, true, 0).room_for_last(style.width);
  if (room == 0) {
    has_samples = false;
    room = measure_grid(heading, rows, largest, false, 0).room_for_last(style.width);
  }
  const std::size_t width = room < kLeastBar ? 0 : std::min(room, kBarWidth);
  return section(style, title, measure_grid(heading, rows, largest, has_samples, width));
}

template <typename Items>
double largest_limit(const Items& items) {
  double largest = 0;
  for (const auto& item : items) {
    if (item.measure.samples > 0) largest = std::max(largest, item.measure.bytes.interval.hi);
  }
  return largest;
}

std::string size_text(const SizeClass& size) {
  if (size.most <= 1) return present::exact_bytes(size.most);
  return size.least < kKiB ? fmt::format("{} to {}", size.least, present::exact_bytes(size.most))
                           : fmt::format("from {}", present::exact_bytes(size.least));
}

std::string sizes(const StatsReport& report, const present::Style& style) {
  const double largest = largest_limit(report.sizes);
  std::vector<MeasureRow> rows;
  for (const SizeClass& size : report.sizes) rows.push_back({size_text(size), &size.measure});
  return measures("Sizes requested", "size", rows, largest, style);
}

std::string groups(const std::vector<Group>& items, std::string_view title,
                   const present::Style& style) {
  const double largest = largest_limit(items);
  std::vector<MeasureRow> rows;
  for (const Group& item : items) rows.push_back({item.name, &item.measure});
  return measures(title, "", rows, largest, style);
}

std::string depths(const StatsReport& report, const present::Style& style) {
  std::uint64_t samples = 0;
  for (const DepthClass& depth : report.depths) samples += depth.samples;
  present::Grid grid({{"frames", present::Align::kRight, false},
                      {"samples", present::Align::kRight, false},
                      {"share", present::Align::kRight, false}},
                     2);
  for (const DepthClass& depth : report.depths) {
    grid.add({depth.least == depth.most ? std::to_string(depth.most)
                                        : fmt::format("{} to {}", depth.least, depth.most),
              present::exact_count(depth.samples), present::exact_share(depth.samples, samples)});
  }
  std::string out = section(style, "Depth of stacks", grid);
  if (report.truncated_samples > 0) {
    out += fmt::format("  {} ({}) {} a truncated stack\n",
                       present::plural(report.truncated_samples, "sample"),
                       present::exact_share(report.truncated_samples, samples),
                       report.truncated_samples == 1 ? "has" : "have");
  }
  return out;
}

std::string threads(const StatsReport& report, const Recording& recording,
                    const present::Style& style) {
  const bool has_counts = !is_part(report);
  std::vector<present::Column> columns;
  if (has_counts) columns.push_back({"counted", present::Align::kRight, false});
  present::append_figure_columns(columns, "estimated");
  columns.push_back({"samples", present::Align::kRight, false});
  columns.push_back({"thread", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const ThreadLine& line : report.threads) {
    std::vector<std::string> cells;
    if (has_counts) cells.push_back(present::exact_bytes(line.exact_bytes));
    present::append_figure(cells, present::figure(line.measure.bytes, present::Quantity::kBytes));
    cells.push_back(present::exact_count(line.measure.samples));
    cells.push_back(present::printable(thread_name(recording.threads[line.thread])));
    grid.add(std::move(cells));
  }
  std::string out = section(style, "Threads", grid);
  if (report.thread_count <= report.threads.size()) return out;
  return out + fmt::format("  and {} more\n", report.thread_count - report.threads.size());
}

std::string processes(const StatsReport& report, const Recording& recording,
                      const present::Style& style) {
  present::Grid grid({{"pid", present::Align::kRight, false},
                      {"counted", present::Align::kRight, false},
                      {"uncounted, at most", present::Align::kRight, false},
                      {"certain", present::Align::kRight, false},
                      {"z", present::Align::kRight, false},
                      {"program", present::Align::kLeft, false}},
                     2);
  const std::size_t shown = std::min(report.processes.size(), present::kProcessesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const profile::ProcessTotals& totals = report.processes[i];
    grid.add({std::to_string(recording.processes[i].pid), present::exact_bytes(totals.exact_bytes),
              present::exact_bytes(totals.unsettled_bound),
              present::exact_bytes(totals.certain_bytes), present::z_score(totals.z),
              present::printable(profile::program_name(recording.processes[i]))});
  }
  std::string out = section(style, "Bytes counted exactly, by process", grid);
  if (report.processes.size() <= shown) return out;
  return out + fmt::format("  and {} more\n", report.processes.size() - shown);
}

}  // namespace

std::string to_text(const StatsReport& report, const Recording& recording,
                    const present::Style& style) {
  const profile::Kind kind = report.options.selection.kind;
  const present::Scope& scope = report.options.scope;
  std::string out = present::profile_heading(kind, "statistics", report.total, style, scope);
  out.pop_back();  // Every section brings its own empty line.
  for (const std::string& line : present::extent_lines(recording)) {
    out += present::paint(style, present::Role::kFaint, line) + "\n";
  }
  if (report.total.samples == 0) {
    out += '\n';
    out += present::nothing_sampled(kind, scope);
  } else {
    out += sizes(report, style);
    out += groups(report.entry_points, "Entry points", style);
    if (!report.lifetimes.empty()) out += groups(report.lifetimes, "Lifetimes", style);
    out += depths(report, style);
  }
  if (!report.threads.empty()) out += threads(report, recording, style);
  if (!report.processes.empty()) out += processes(report, recording, style);
  return out + present::profile_footer("", std::nullopt, report.is_split, style);
}

}  // namespace geiger::report
