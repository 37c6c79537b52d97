#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/present/charts/dots.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/names.h"
#include "analysis/present/text.h"
#include "analysis/profile/labels.h"
#include "analysis/report/overview/rss.h"

namespace geiger::report {
namespace {

constexpr std::size_t kRssPlotRows = 10;
constexpr std::size_t kBarColumns = 18;
constexpr std::size_t kLeastBarColumns = 4;
constexpr std::size_t kPlotColumns = 100;

const RssRow& row_of(const RssReport& report, RssPart part) {
  return *std::ranges::find(report.rows, part, &RssRow::part);
}

/// The share of a row as text, whose ends are equal where it was counted.
std::string share_text(const RssReport& report, const RssRow& row) {
  const bool is_estimate = row.bytes.interval.hi > row.bytes.interval.lo;
  return is_estimate
             ? present::figure(row.share).text()
             : present::exact_share(present::whole_number(row.bytes.value), report.resident);
}

/// "Stacks", of a row that begins a sentence.
std::string opening_name(const RssRow& row) {
  std::string name(text_of(row.part));
  name = name.substr(0, name.find(':'));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

/// What resident memory mostly is: the live heap, unless another part is surely larger.
std::string finding(const RssReport& report) {
  const RssRow& live = report.rows.front();
  const auto largest = std::ranges::max_element(
      report.rows, {}, [](const RssRow& row) { return row.bytes.interval.lo; });
  const std::string resident = fmt::format("{} resident", present::exact_bytes(report.resident));
  if (!report.has_shares()) {
    return report.excess > 0 ? resident : fmt::format("No reading near the maximum: {}", resident);
  }
  if (largest->bytes.interval.lo <= live.bytes.interval.hi) {
    return fmt::format("{} is {} of {}", opening_name(live), share_text(report, live), resident);
  }
  return fmt::format("{}: {} of {}; {} is {}", opening_name(*largest), share_text(report, *largest),
                     resident, text_of(live.part), share_text(report, live));
}

std::string heading(const RssReport& report, const profile::Recording& recording,
                    const present::Style& style) {
  const profile::Process& process = recording.processes[report.process];
  std::string of = fmt::format(", {} after the start", present::duration(report.after));
  if (report.options.moment == profile::Moment::kLast) of += ", the last reading";
  std::string faint = fmt::format("{}, pid {}", present::printable(profile::program_name(process)),
                                  present::pid_text(process));
  if (const auto allocator = profile::other_allocator(process); !allocator.empty()) {
    faint += fmt::format("; malloc is that of {}", present::printable(allocator));
  }
  const bool was_larger =
      report.options.moment == profile::Moment::kMaximum && report.high_water > report.resident;
  if (was_larger)
    faint += fmt::format("; the kernel's maximum: {}", present::exact_bytes(report.high_water));
  faint += fmt::format("; ± and [ ] are {} intervals, other figures are exact",
                       present::level_text(style.level));
  return present::paint(style, present::Role::kHeading,
                        present::wrap(finding(report) + of + ".", 0, style.width)) +
         "\n" + present::paint(style, present::Role::kFaint, present::wrap(faint, 0, style.width)) +
         "\n\n";
}

/// A bar of the share: what is sure, then up to the estimate, then up to the upper limit.
std::string bar(const RssRow& row, std::size_t width) {
  const auto cells = [&](double share) {
    return static_cast<std::size_t>(
        std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  };
  const std::size_t lo = cells(row.share.interval.lo);
  const std::size_t value = std::max(lo, cells(row.share.value));
  const std::size_t hi = std::max(value, cells(row.share.interval.hi));
  std::string out;
  for (std::size_t i = 0; i < hi; ++i) out += i < lo ? "█" : i < value ? "░" : "▒";
  return out;
}

present::Grid row_grid(const RssReport& report, std::size_t bar_width) {
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "resident");
  if (report.has_shares()) present::append_figure_columns(columns, "share");
  columns.push_back({"", present::Align::kLeft, false, true});
  columns.push_back({"", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  const auto add = [&](const present::Figure& bytes, const present::Figure& share,
                       std::string_view text, const std::string& drawn) {
    std::vector<std::string> cells;
    present::append_figure(cells, bytes);
    if (report.has_shares()) present::append_figure(cells, share);
    cells.emplace_back(text);
    cells.push_back(drawn);
    grid.add(std::move(cells));
  };
  for (const RssRow& row : report.rows) {
    const bool is_estimate = row.bytes.interval.hi > row.bytes.interval.lo;
    if (row.bytes.value == 0 && !is_estimate) continue;
    const Bytes exact = present::whole_number(row.bytes.value);
    add(is_estimate ? present::figure(row.bytes, present::Quantity::kBytes)
                    : present::Figure{present::exact_bytes(exact), ""},
        is_estimate ? present::figure(row.share)
                    : present::Figure{present::exact_share(exact, report.resident), ""},
        text_of(row.part), bar(row, bar_width));
  }
  add({present::exact_bytes(report.resident), ""}, {"100 %", ""}, "RSS", "");
  return grid;
}

/// With bars as wide as there is room for.
std::string rows(const RssReport& report, const present::Style& style) {
  const std::size_t room = row_grid(report, 0).room_for_last(style.width);
  const bool has_bars = style.has_unicode && room >= kLeastBarColumns;
  return row_grid(report, has_bars ? std::min(room, kBarColumns) : 0).text(style);
}

std::string live_lines(const RssReport& report, const present::Style& style) {
  const auto text = [](const present::Measure& measure) {
    return present::figure(measure.bytes, present::Quantity::kBytes).text();
  };
  const std::string line =
      report.residency_fault.empty()
          ? fmt::format(
                "Live objects at that instant: {}; resident {}, swapped out {}, never "
                "touched {}.",
                text(report.live), text(report.live_resident), text(report.live_swapped),
                text(report.live_untouched))
          : fmt::format(
                "Live objects at that instant: {}, all assumed to be resident (their residency is "
                "unknown: {}).",
                text(report.live), report.residency_fault);
  return "\n" + present::wrap(line, 0, style.width) + "\n";
}

/// What the rows do not show, and where two ways of counting differ.
std::string doubt_lines(const RssReport& report, const present::Style& style) {
  std::string lines;
  const auto add = [&](const std::string& line) {
    lines += present::wrap(line, 0, style.width) + "\n";
  };
  if (report.misses_objects) {
    add("Objects from before the recording, and those whose samples were lost, were not seen: they "
        "count as not seen, or allocator.");
  }
  const auto least = [](double bytes) { return present::exact_bytes(static_cast<Bytes>(bytes)); };
  if (report.excess > 0) {
    add(fmt::format(
        "Contradiction: the live objects' pages have at least {} more than all memory in "
        "which objects may lie. The rows do not add up.",
        least(report.excess)));
  } else if (report.outside > 0 && !report.misses_objects) {
    add(fmt::format(
        "At least {} of live objects lie outside of the mappings with sampled ones: other "
        "anonymous memory is without them.",
        least(report.outside)));
  }
  return lines;
}

/// What of the allocator's row was counted.
std::string census_lines(const RssReport& report, const present::Style& style) {
  using profile::HeapPart;
  if (!report.census) return "";
  constexpr std::pair<HeapPart, std::string_view> kParts[] = {
      {HeapPart::kFree, "free blocks beside used ones"},
      {HeapPart::kKept, "those that threads keep"},
      {HeapPart::kUnused, "blocks of unused pages"},
      {HeapPart::kUncarved, "ends of pages"},
      {HeapPart::kEmpty, "empty pages"},
      {HeapPart::kHeaders, "headers"}};
  std::string list;
  for (const auto& [part, text] : kParts) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", text,
                        present::exact_bytes(report.census->of(part).resident));
  }
  const std::string line = fmt::format(
      "Of the allocator's row: {}; the rest is rounding and what samples need. It has mapped {}.",
      list, present::exact_bytes(report.census->mapped));
  return present::wrap(line, 0, style.width) + "\n";
}

present::Chart chart_of(const RssReport& report) {
  present::Chart chart;
  const auto& series = report.series;
  const Nanoseconds first = series.front().time;
  const double seconds = static_cast<double>(series.back().time - first) / 1e9;
  double most = 0;
  present::Curve curve{"RSS", {}};
  for (const profile::SeriesPoint& point : series) {
    const auto resident = static_cast<double>(point.counts.resident);
    most = std::max(most, resident);
    curve.points.push_back({static_cast<double>(point.time - first) / 1e9, resident});
  }
  chart.title = "RSS over time";
  const auto last = static_cast<Nanoseconds>(seconds * 1e9);
  chart.x = {"", 0, std::max(seconds, 1e-3), false, {{0, "0"}, {seconds, present::duration(last)}}};
  chart.y = {"", 0, std::max(most, 1.0), false, {{0, "0"}}};
  chart.y.ticks.push_back({most, present::exact_bytes(static_cast<Bytes>(most))});
  chart.curves.push_back(std::move(curve));
  return chart;
}

std::string picture(const RssReport& report, const present::Style& style) {
  if (report.series.size() < 3) return "";
  const std::size_t columns = std::min(style.width, kPlotColumns);
  const auto lines = present::draw_dots(chart_of(report), columns, kRssPlotRows, style.has_unicode);
  return "\n" + present::beside(lines, {}, 0);
}

std::string footer(const RssReport& report, const present::Style& style) {
  std::string out;
  if (style.has_unicode) out += "█ at least, ░ up to the estimate, ▒ up to the upper limit.\n";
  if (report.swapped > 0)
    out += fmt::format("Swapped out: {}.\n", present::exact_bytes(report.swapped));
  if (report.refused > 0) {
    out += fmt::format("{} of the process failed.\n", present::plural(report.refused, "reading"));
  }
  const std::string run = present::behind_command(report.options.run);
  const bool is_mapped =
      row_of(report, RssPart::kMapped).bytes.value > report.rows.front().bytes.interval.hi;
  if (!report.has_shares() && report.excess == 0) {
    out += fmt::format("next: geiger rss{} --at last\n", run);
  } else if (is_mapped) {
    out += fmt::format("next: geiger table{} --kind mapped-peak\n", run);
  } else {
    out += fmt::format(
        "next: geiger table{0} --kind resident\n"
        "  or: geiger table{0} --kind live-overhead\n",
        run);
  }
  return "\n" + present::paint(style, present::Role::kFaint, out);
}

}  // namespace

std::string to_text(const RssReport& report, const profile::Recording& recording,
                    const present::Style& style) {
  return heading(report, recording, style) + rows(report, style) + live_lines(report, style) +
         doubt_lines(report, style) + census_lines(report, style) + picture(report, style) +
         footer(report, style);
}

}  // namespace geiger::report
