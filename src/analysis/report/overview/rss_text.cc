// `rss` as text and JSON.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "analysis/present/charts/chart.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
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

namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::HeapPart;

/// A row of an account with or without shares.
struct AccountRow {
  const RssRow& row;
  bool has_share;
};

const Fields<AccountRow>& fields_of(Of<AccountRow> /*type*/) {
  static const auto kFields =
      Fields<AccountRow>("rss_row", "A part of resident memory.")
          .field("part", "", [](const AccountRow& it) { return key_of(it.row.part); })
          .one_of(present::texts_of<RssPart>([](RssPart part) { return key_of(part); }))
          .field("resident", "", [](const AccountRow& it) { return it.row.bytes; })
          .field("share", "of RSS, where shares mean something",
                 [](const AccountRow& it) { return present::if_true(it.has_share, it.row.share); });
  return kFields;
}

struct CensusPart {
  HeapPart part;
  profile::MapTotals totals;
};

const Fields<CensusPart>& fields_of(Of<CensusPart> /*type*/) {
  static const auto kFields =
      Fields<CensusPart>("census_part")
          .field("part", "", [](const CensusPart& it) { return key_of(it.part); })
          .one_of(present::texts_of<HeapPart>([](HeapPart part) {
            return static_cast<std::size_t>(part) < profile::kHeapParts ? key_of(part) : "";
          }))
          .field("bytes", "", [](const CensusPart& it) { return it.totals.size; })
          .field("resident_bytes", "", [](const CensusPart& it) { return it.totals.resident; });
  return kFields;
}

struct CensusOf {
  const profile::HeapCensus& census;
};

const Fields<CensusOf>& fields_of(Of<CensusOf> /*type*/) {
  static const auto kFields =
      Fields<CensusOf>("heap_census", "geiger's own allocator, counted exactly.")
          .field("mapped_bytes", "what the sizes of the parts add up to",
                 [](const CensusOf& it) { return it.census.mapped; })
          .field("parts", "", [](const CensusOf& it) {
            std::vector<CensusPart> parts;
            for (std::size_t i = 0; i < profile::kHeapParts; ++i) {
              const auto part = static_cast<HeapPart>(i);
              parts.push_back({part, it.census.of(part)});
            }
            return parts;
          });
  return kFields;
}

struct Reading {
  const profile::SeriesPoint& point;
  Nanoseconds after;
};

const Fields<Reading>& fields_of(Of<Reading> /*type*/) {
  static const auto kFields =
      Fields<Reading>("rss_reading", "A reading, or several that were merged.")
          .field("after_ns", "the start of the process", &Reading::after)
          .field("resident", "", [](const Reading& it) { return it.point.counts.resident; })
          .field("least_resident", "of the readings merged",
                 [](const Reading& it) { return it.point.least; })
          .field("anonymous", "", [](const Reading& it) { return it.point.counts.anonymous; })
          .field("file", "", [](const Reading& it) { return it.point.counts.file; })
          .field("shared", "", [](const Reading& it) { return it.point.counts.shared; })
          .field("swapped", "", [](const Reading& it) { return it.point.counts.swapped; });
  return kFields;
}

const profile::Process& process_of(const InRecording<RssReport>& it) {
  return it.recording.processes[it.it.process];
}

std::optional<present::Measure> if_known(const RssReport& report, const present::Measure& measure) {
  return present::if_true(report.residency_fault.empty(), measure);
}

}  // namespace

const Fields<InRecording<RssReport>>& fields_of(Of<InRecording<RssReport>> /*type*/) {
  using Document = InRecording<RssReport>;
  static const auto kFields =
      Fields<Document>("rss")
          .field("level", "confidence level of all intervals",
                 [](const RssReport& it) { return it.options.level; })
          .field("pid", "", [](const Document& it) { return process_of(it).pid; })
          .field("executable", "", [](const Document& it) { return process_of(it).executable; })
          .field("moment", "of the account: the largest RSS, or the last reading",
                 [](const RssReport& it) {
                   return it.options.moment == profile::Moment::kMaximum ? "maximum" : "last";
                 })
          .one_of({"maximum", "last"})
          .field("after_ns", "the start of the process", &RssReport::after)
          .field("resident_bytes", "RSS then", &RssReport::resident)
          .field("swapped_bytes", "", &RssReport::swapped)
          .field("high_water_bytes", "the largest RSS by the kernel's own count",
                 &RssReport::high_water)
          .field("misses_objects", "live objects may have no sample for another reason than chance",
                 &RssReport::misses_objects)
          .field("contradiction_bytes",
                 "live bytes that at least are in none of the memory they can be in; 0: none",
                 &RssReport::excess)
          .field("rows", "add up to RSS unless `contradiction_bytes` is not 0",
                 [](const RssReport& it) {
                   std::vector<AccountRow> rows;
                   for (const RssRow& row : it.rows) rows.push_back({row, it.has_shares()});
                   return rows;
                 })
          .field("heap_census", "of geiger's own allocator",
                 [](const RssReport& it) {
                   return it.census ? std::optional(CensusOf{*it.census}) : std::nullopt;
                 })
          .field("live", "objects live then, by size", &RssReport::live)
          .field("has_residency", "pages could be read",
                 [](const RssReport& it) { return it.residency_fault.empty(); })
          .field("live_resident", "their bytes in memory",
                 [](const RssReport& it) { return if_known(it, it.live_resident); })
          .field("live_swapped", "their bytes in swap",
                 [](const RssReport& it) { return if_known(it, it.live_swapped); })
          .field("live_untouched", "their bytes that were never touched",
                 [](const RssReport& it) { return if_known(it, it.live_untouched); })
          .field("residency_fault", "why pages could not be read",
                 [](const RssReport& it) {
                   return present::if_true(!it.residency_fault.empty(), it.residency_fault);
                 })
          .field("failed_readings", "", &RssReport::refused)
          .field("cost_ns", "processor time of all readings", &RssReport::cost)
          .field("observed_ns", "from the first reading to the last", &RssReport::observed)
          .field("series", "", [](const Document& it) {
            std::vector<Reading> readings;
            for (const profile::SeriesPoint& point : it.it.series) {
              readings.push_back({point, point.time - std::min(point.time, process_of(it).start)});
            }
            return readings;
          });
  return kFields;
}

std::string to_json(const RssReport& report, const profile::Recording& recording) {
  return present::document("rss", report, recording);
}

}  // namespace geiger::report
