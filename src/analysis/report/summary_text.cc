#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/profile/labels.h"
#include "analysis/profile/measured.h"
#include "analysis/report/extent.h"
#include "analysis/report/format.h"
#include "analysis/report/grid.h"
#include "analysis/report/heading.h"
#include "analysis/report/names.h"
#include "analysis/report/summary.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::ProcessTotals;
using profile::Recording;

constexpr std::size_t kLabelWidth = 18;
constexpr std::size_t kProcessesShown = 20;
constexpr std::size_t kWarningsShown = 10;

/// So rare is |z| > 3: nothing is said of what is more frequent.
constexpr double kUsual = 1.0 / 370;

std::string fact(const Style& style, std::string_view label, std::string_view value,
                 std::string_view remark = "") {
  std::string out = fmt::format("  {}", paint(style, Role::kFaint, pad_right(label, kLabelWidth)));
  out += remark.empty() ? std::string(value) : pad_right(value, 24);
  if (!remark.empty()) out += fmt::format("  {}", paint(style, Role::kFaint, remark));
  return out + "\n";
}

std::string bytes_text(const Measure& measure) {
  return figure(measure.bytes, Quantity::kBytes).text();
}

std::string objects_text(const Measure& measure) {
  if (measure.samples == 0) return "";
  const std::string count = objects_figure(measure).text();
  return count + (count == "1" ? " object" : " objects");
}

/// Of a profile that another program wrote.
bool is_foreign(const SummaryReport& report) { return !report.options.origin.empty(); }

std::string foreign_heading(const SummaryReport& report, const Process& first, const Style& style) {
  std::string out =
      paint(style, Role::kHeading, printable(profile::file_name_of(first.executable))) + "\n";
  for (const std::string& line : report.options.origin) {
    out += wrap(printable(line), 0, style.width) + "\n";
  }
  return out;
}

std::string heading(const SummaryReport& report, const Recording& recording, const Style& style) {
  if (recording.processes.empty()) return "An empty recording: no process was seen.\n";
  const Process& first = recording.processes[report.processes.front().index];
  if (is_foreign(report)) return foreign_heading(report, first, style);
  std::string out =
      paint(style, Role::kHeading, printable(profile::file_name_of(first.executable)));
  out += fmt::format(", pid {}: {} after {}", first.pid, ending_text(first),
                     duration(first.end - std::min(first.start, first.end)));
  if (recording.processes.size() > 1) {
    out += fmt::format("; {} in all, {}", plural(recording.processes.size(), "process image"),
                       duration(report.duration));
  }
  out += "\n";
  if (first.is_attached) out += "attached while it ran: what it allocated before is not in here\n";
  return out;
}

std::string interval_text(const SummaryReport& report, const Recording& recording) {
  Bytes least = ~Bytes{0};
  Bytes most = 0;
  for (const profile::Epoch& epoch : recording.epochs) {
    least = std::min(least, epoch.interval);
    most = std::max(most, epoch.interval);
  }
  if (recording.epochs.empty()) return "none";
  if (most <= 1 && is_foreign(report)) return "none";
  if (most <= 1) return "1 B: every allocation is recorded";
  if (least == most) return exact_bytes(most) + " between sampled bytes, on average";
  return fmt::format("{} to {} between sampled bytes, on average", exact_bytes(least),
                     exact_bytes(most));
}

std::string z_text(const profile::HitCheck& hits) {
  const std::string z = fmt::format("z = {} from it", z_score(hits.z));
  if (hits.has_failed()) return z + ", beyond chance";
  if (hits.p_value < kUsual) return z + ", which chance does once in 400 runs";
  return z + ", within chance";
}

std::string exact_text(const ProcessTotals& totals) {
  std::string out = exact_bytes(totals.exact_bytes);
  if (totals.unsettled_bound > 0) {
    out += fmt::format(" + at most {}", exact_bytes(totals.unsettled_bound));
  }
  return out;
}

std::string exact_remark(const SummaryReport& report) {
  const ProcessTotals& totals = report.exact;
  if (totals.trials == 0 || report.allocated.bytes.variance <= 0) return "";
  if (!report.hits.is_testable) return "";
  return fmt::format("the estimate lies {}", z_text(report.hits));
}

std::string self_check(const SummaryReport& report, const Style& style) {
  if (report.offsets.samples + report.offsets.impossible == 0) return "";
  const std::string hits = report.hits.is_testable
                               ? fmt::format("hits z = {}", z_score(report.hits.z))
                               : "hits not tested: the interval changed";
  const std::string remark =
      fmt::format("{}, offsets of drawn bytes {}", hits, p_equation(report.offsets.p_value()));
  return fact(style, "self-check", passes_self_check(report) ? "passed" : "FAILED", remark);
}

std::string samples_remark(const SummaryReport& report) {
  if (report.certain_samples == 0 || is_foreign(report)) return "";
  return fmt::format("{} of them certain: as large as the interval",
                     exact_count(report.certain_samples));
}

std::string threads_text(const SummaryReport& report) {
  std::string out = exact_count(report.exact.threads);
  if (report.exact.unsettled_threads == 0) return out;
  return out + fmt::format(", the last bytes of {} of them not counted",
                           exact_count(report.exact.unsettled_threads));
}

std::string peak_remark(const SummaryReport& report) {
  if (report.live_at_peak.samples == 0) return "";
  std::string out = duration(report.peak_time) + " after the start";
  if (report.is_peak_halved) out += "; measured by half of the samples";
  return out;
}

/// Exact, and beside what went through the allocator.
std::string mapped_itself(const SummaryReport& report, const Style& style) {
  const MappedLine& mapped = report.mapped;
  if (!mapped.is_seen) return "";
  std::string remark =
      fmt::format("{} at the end, {} reserved, {} of files", exact_bytes(mapped.at_end.memory),
                  exact_bytes(mapped.at_end.reserved), exact_bytes(mapped.at_end.files));
  if (mapped.misses_inherited) remark += "; what forks inherited is not counted";
  return fact(style, "mapped by itself", exact_bytes(mapped.at_peak) + " at most", remark);
}

/// Of the kinds that sum something else than sizes, and of lives.
std::string further_kinds(const SummaryReport& report, const Style& style) {
  std::string out;
  for (const KindLine& line : report.kinds) {
    const bool is_overhead = line.kind == profile::Kind::kLiveOverhead;
    out += fact(style, profile::name_of(line.kind), bytes_text(line.measure),
                is_overhead ? "beyond what was asked for, live at the end"
                            : "of what was live at the largest RSS");
  }
  if (!report.lifetimes) return out;
  const LifetimeFigures& lives = report.lifetimes->bytes;
  const std::string median = length_figure(lives.quantiles[kMedian], lives.longest).text();
  return out + fact(style, "median lifetime", median,
                    fmt::format("of the bytes; {} are freed within 1 ms",
                                figure(lives.temporary).text()));
}

/// What part of the recording all that follows is of.
std::string scope_lines(const SummaryReport& report) {
  const Scope& scope = report.options.scope;
  if (!report.is_part()) return "";
  const std::string only = only_text(scope);
  std::string out = fmt::format("{}{}{}\n", text_of(scope, profile::Kind::kAllocated),
                                only.empty() ? "" : "; ", only);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + (scope.is_halved ? halved_note() : "");
}

std::string children(const ForkedLine& forked, const Style& style) {
  if (forked.children == 0) return "";
  std::string remark = "seen from their first allocation";
  if (forked.may_pass_unseen > 0) {
    remark += fmt::format("; forks by inlined system calls may pass {} unseen",
                          exact_bytes(forked.may_pass_unseen));
  }
  return fact(style, "children", fmt::format("{} by fork", exact_count(forked.children)), remark);
}

std::string facts(const SummaryReport& report, const Recording& recording, const Style& style) {
  std::string out;
  out += fact(style, "interval", interval_text(report, recording));
  std::string_view label = "recorded";
  for (const std::string& line : extent_lines(recording)) {
    out += fact(style, std::exchange(label, ""), line);
  }
  out += fact(style, "samples", exact_count(report.samples), samples_remark(report));
  const bool is_told = !profile::tells_live_only(recording);
  out += fact(style, "allocated", is_told ? bytes_text(report.allocated) : "not told",
              is_told ? objects_text(report.allocated) : "");
  const bool has_exact = !is_foreign(report) || report.exact.threads > 0;
  if (!report.is_part() && has_exact) {
    out += fact(style, "exact total", exact_text(report.exact), exact_remark(report));
    out += self_check(report, style);
  }
  out += fact(style, "live at the peak",
              report.is_aggregated ? "not told" : bytes_text(report.live_at_peak),
              peak_remark(report));
  const bool has_end = report.options.selection.to.has_value();
  out += fact(style, has_end ? "live at its end" : "live at the end",
              bytes_text(report.live_at_end), objects_text(report.live_at_end));
  out += further_kinds(report, style);
  out += mapped_itself(report, style);
  if (report.rss && !report.is_part()) {
    out += fact(style, "resident memory", explained_line(*report.rss) + "; geiger rss adds it up");
  }
  if (report.detection_limit >= 1) {
    out += fact(style, "detection limit", bound_bytes(report.detection_limit),
                "whatever has no sample allocated less");
  }
  if (!report.is_part() && !is_foreign(report)) {
    out += fact(style, "threads", threads_text(report));
    out += children(report.forked, style);
  }
  out += fact(style, "stacks", exact_count(report.stacks),
              exact_share(report.truncated, report.samples) + " of the samples have cut-off ones");
  return out;
}

std::string drops(const SummaryReport& report, const Style& style) {
  if (is_foreign(report)) return "";
  if (all_drops(report) == 0) return fact(style, "dropped", "nothing");
  std::string out;
  for (std::size_t cause = 0; cause < report.drops.size(); ++cause) {
    if (report.drops[cause] == 0) continue;
    out += fact(style, out.empty() ? "dropped" : "", exact_count(report.drops[cause]),
                drop_cause_text(cause));
  }
  return out;
}

std::string process_list(const SummaryReport& report, const Recording& recording,
                         const Style& style) {
  if (report.processes.size() < 2) return "";
  std::vector<Column> columns{{"pid", Align::kRight, false}};
  columns.push_back({"samples", Align::kRight, false});
  append_figure_columns(columns, "allocated");
  columns.push_back({"exactly", Align::kRight, false});
  columns.push_back({"z", Align::kRight, false});
  columns.push_back({"program", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  for (std::size_t i = 0; i < std::min(report.processes.size(), kProcessesShown); ++i) {
    const ProcessLine& line = report.processes[i];
    const Process& process = recording.processes[line.index];
    std::vector<std::string> cells{std::to_string(process.pid), exact_count(line.samples)};
    append_figure(cells, figure(line.allocated.bytes, Quantity::kBytes));
    cells.push_back(exact_bytes(line.exact.exact_bytes));
    const bool is_testable = profile::check_hits(recording, line.index).is_testable;
    cells.push_back(is_testable ? z_score(line.exact.z) : "-");
    cells.push_back(printable(profile::file_name_of(process.executable)));
    grid.add(std::move(cells), ending_text(process));
  }
  std::string out =
      fmt::format("\n{}\n{}", paint(style, Role::kHeading, "Processes"), grid.text(style));
  if (report.processes.size() <= kProcessesShown) return out;
  return out + fmt::format("  and {} more\n", report.processes.size() - kProcessesShown);
}

std::string site_list(std::string_view title, const std::vector<TableLine>& lines,
                      const Style& style) {
  if (lines.empty()) return "";
  std::vector<Column> columns;
  append_figure_columns(columns, "");
  append_figure_columns(columns, "");
  columns.push_back({"", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  for (const TableLine& line : lines) {
    if (line.self.samples == 0) continue;
    std::vector<std::string> cells;
    append_figure(cells, figure(shown_bytes(line.self), Quantity::kBytes));
    append_figure(cells, figure(line.share));
    cells.push_back(printable(line.name));
    grid.add(std::move(cells), printable(line.detail));
  }
  return fmt::format("\n{}\n{}", paint(style, Role::kHeading, title), grid.text(style));
}

std::string warning_list(const SummaryReport& report, const Recording& recording,
                         const Style& style) {
  std::vector<std::string> lines;
  if (report.hits.has_failed()) {
    lines.emplace_back("The estimate disagrees with the exact total: please report this.");
  }
  if (report.offsets.has_failed()) {
    lines.emplace_back(
        "Drawn bytes do not lie where a right sampler puts them; geiger doctor says more.");
  }
  if (report.samples == 0) {
    lines.emplace_back("Nothing was sampled. A smaller --interval sees smaller programs.");
  }
  for (const std::string& warning : recording.warnings) lines.push_back(printable(warning));
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), kWarningsShown); ++i) {
    out += paint(style, Role::kWarning, "warning: " + lines[i]) + "\n";
  }
  if (lines.size() > kWarningsShown) {
    out += fmt::format("and {} more\n", plural(lines.size() - kWarningsShown, "warning"));
  }
  return out.empty() ? "" : "\n" + out;
}

std::string next_command(const SummaryReport& report) {
  if (report.samples == 0) return "";
  const std::string run =
      report.options.run.empty() ? "" : fmt::format(" {}", printable(report.options.run));
  return fmt::format("\nnext: geiger table{0}   or   geiger tree{0} --kind {1}\n", run,
                     report.is_aggregated ? "live" : "peak");
}

}  // namespace

std::string to_text(const SummaryReport& report, const Recording& recording, const Style& style) {
  std::string out = heading(report, recording, style);
  if (recording.processes.empty()) return out + warning_list(report, recording, style);
  out += paint(style, Role::kFaint,
               fmt::format("± and [ ] are {} intervals", level_text(style.level))) +
         "\n";
  out += scope_lines(report) + "\n";
  out += facts(report, recording, style) + drops(report, style);
  if (!report.is_part() && !is_foreign(report)) out += process_list(report, recording, style);
  out += site_list("Most allocated, by function", report.top_allocated, style);
  out += site_list("Most live at the peak, by function", report.top_live_at_peak, style);
  return out + warning_list(report, recording, style) + next_command(report);
}

std::string closing_lines(const SummaryReport& report, const Recording& recording,
                          const Style& style) {
  const std::string z =
      report.hits.is_testable ? fmt::format(", z = {}", z_score(report.exact.z)) : "";
  std::string out =
      fmt::format("geiger: {}; allocated {} (exactly {}{})\n", plural(report.samples, "sample"),
                  bytes_text(report.allocated), exact_text(report.exact), z);
  const std::string peak =
      report.is_aggregated ? "" : fmt::format("at the peak {}, ", bytes_text(report.live_at_peak));
  out += fmt::format("geiger: live {}at the end {}\n", peak, bytes_text(report.live_at_end));
  if (report.rss) {
    out += fmt::format("geiger: {} (geiger rss adds it up)\n", explained_line(*report.rss));
  }
  if (all_drops(report) > 0) {
    out += fmt::format("geiger: {} dropped; geiger summary says why\n",
                       exact_count(all_drops(report)));
  }
  for (const Process& process : recording.processes) {
    if (process.ending != profile::Ending::kSwitchedOff) continue;
    out += paint(style, Role::kWarning,
                 fmt::format("geiger: pid {}: {}", process.pid, ending_text(process))) +
           "\n";
  }
  return out + fmt::format("geiger: next: geiger summary {}\n", printable(report.options.run));
}

}  // namespace geiger::report
