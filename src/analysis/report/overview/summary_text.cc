#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::Recording;

constexpr std::size_t kLabelWidth = 18;
constexpr std::size_t kValueWidth = 24;  ///< Of values with a remark.
constexpr std::size_t kRoomForProgram = 12;
constexpr std::size_t kWarningsShown = 10;
/// |z| of estimates that agree with what was counted; beyond it is one recording in 370.
constexpr double kMostByChance = 3;

std::string fact(const present::Style& style, std::string_view label, std::string_view value,
                 std::string_view remark = "") {
  std::string out = fmt::format(
      "  {}", present::paint(style, present::Role::kFaint, present::pad_right(label, kLabelWidth)));
  if (remark.empty()) return out + present::wrap(value, 2 + kLabelWidth, style.width) + "\n";
  const std::size_t before =
      2 + kLabelWidth + std::max(kValueWidth, present::columns_of(value)) + 2;
  return out + fmt::format("{}  {}\n", present::pad_right(value, kValueWidth),
                           present::paint(style, present::Role::kFaint,
                                          present::wrap(remark, before, style.width)));
}

std::string foreign_heading(const SummaryReport& report, const Recording& recording,
                            const present::Style& style) {
  std::string out =
      present::paint(style, present::Role::kHeading, present::printable(program_text(recording))) +
      "\n";
  for (const std::string& line : report.options.origin) {
    out += present::wrap(present::printable(line), 0, style.width) + "\n";
  }
  return out;
}

std::string heading(const SummaryReport& report, const Recording& recording,
                    const present::Style& style) {
  if (recording.processes.empty()) return "The recording is empty: it contains no process.\n";
  if (is_foreign(report)) return foreign_heading(report, recording, style);
  const std::string name = present::printable(program_text(recording));
  std::string out =
      present::wrap(fmt::format("{}, {}", name, what_ran(recording)), 0, style.width) + "\n";
  if (out.starts_with(name)) {  // Else it is broken.
    out.replace(0, name.size(), present::paint(style, present::Role::kHeading, name));
  }
  const bool is_attached =
      std::ranges::min_element(recording.processes, {}, &Process::start)->is_attached;
  if (is_attached) out += "attached while it ran: earlier allocations are not included\n";
  if (const std::uint64_t missing = present::missing_segments(recording); missing > 0) {
    out += fmt::format("{} deleted: {} allocations are not included\n",
                       present::plural(missing, "segment") + (missing == 1 ? " was" : " were"),
                       missing == 1 ? "its" : "their");
  }
  for (const std::string& line : present::refused_lines(recording)) out += line + "\n";
  return out;
}

std::string fact_lines(const SummaryReport& report, const Recording& recording,
                       const present::Style& style) {
  std::string out;
  for (const SummaryFact& line : summary_facts(report, recording)) {
    out += fact(style, line.label, line.value, line.remark);
  }
  return out;
}

/// What part of the recording all that follows is of.
std::string scope_lines(const SummaryReport& report) {
  const present::Scope& scope = report.options.scope;
  if (!report.is_part()) return "";
  const std::string only = present::only_text(scope);
  std::string out = fmt::format("{}{}{}\n", text_of(scope, profile::Kind::kAllocated),
                                only.empty() ? "" : "; ", only);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + (scope.is_split ? present::split_note() : "");
}

/// Nothing is worth a line of its own.
bool is_idle(const ProcessLine& line, const Process& process) {
  return line.samples == 0 && process.ending == profile::Ending::kExited &&
         std::ranges::all_of(process.drops, [](std::uint64_t drops) { return drops == 0; });
}

/// Figures of processes that a narrow terminal may have no room for.
struct ProcessFigures {
  bool has_exact = true, has_own_peak = true;
};

present::Grid process_grid(const SummaryReport& report, const Recording& recording,
                           std::span<const ProcessLine* const> lines, ProcessFigures figures) {
  std::vector<present::Column> columns{{"pid", present::Align::kRight, false}};
  columns.push_back({"samples", present::Align::kRight, false});
  present::append_figure_columns(columns, "allocated");
  if (figures.has_own_peak) columns.push_back({"own peak", present::Align::kLeft, false});
  if (figures.has_exact) columns.push_back({"exactly", present::Align::kRight, false});
  columns.push_back({"z", present::Align::kRight, false});
  columns.push_back({"program", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const ProcessLine* line : lines) {
    const Process& process = recording.processes[line->index];
    std::vector<std::string> cells{std::to_string(process.pid),
                                   present::exact_count(line->samples)};
    present::append_figure(cells,
                           present::figure(line->allocated.bytes, present::Quantity::kBytes));
    if (figures.has_own_peak)
      cells.push_back(report.is_aggregated ? "" : bytes_text(line->own_peak));
    if (figures.has_exact) cells.push_back(present::exact_bytes(line->exact.exact_bytes));
    const bool is_testable = profile::check_hits(recording, line->index).is_testable;
    cells.push_back(is_testable ? present::z_score(line->exact.z) : "-");
    cells.push_back(present::printable(profile::program_name(process)));
    grid.add(std::move(cells), present::ending_text(process));
  }
  return grid;
}

std::string process_list(const SummaryReport& report, const Recording& recording,
                         const present::Style& style) {
  if (report.processes.size() < 2) return "";
  std::vector<const ProcessLine*> lines;
  std::size_t idle = 0;
  Bytes of_idle = 0;
  for (const ProcessLine& line : report.processes) {
    if (!is_idle(line, recording.processes[line.index])) {
      lines.push_back(&line);
      continue;
    }
    ++idle;
    of_idle += line.exact.exact_bytes;
  }
  const std::size_t shown = std::min(lines.size(), present::kProcessesShown);
  const std::span<const ProcessLine* const> listed(lines.data(), shown);
  present::Grid grid = process_grid(report, recording, listed, {});
  for (const bool has_own_peak : {true, false}) {
    if (grid.room_for_last(style.width) >= kRoomForProgram) break;
    grid =
        process_grid(report, recording, listed, {.has_exact = false, .has_own_peak = has_own_peak});
  }
  std::string out = fmt::format(
      "\n{}\n{}", present::paint(style, present::Role::kHeading, "Processes"), grid.text(style));
  if (lines.size() > shown) out += fmt::format("  and {} more\n", lines.size() - shown);
  if (idle == 0) return out;
  return out + fmt::format("  and {} {} without samples, {} exactly\n", present::exact_count(idle),
                           idle == 1 ? "process" : "processes", present::exact_bytes(of_idle));
}

/// Whose figures the facts are, where there are several processes.
std::string whose_lines(const SummaryReport& report, const Recording& recording,
                        const present::Style& style) {
  if (report.processes.size() < 2 || report.is_part() || is_foreign(report)) return "";
  std::string out = fmt::format("Figures cover all {} processes together",
                                present::exact_count(report.processes.size()));
  if (report.rss) {
    const Process& process = recording.processes[report.rss->process];
    out += fmt::format("; resident memory is of {}, pid {}",
                       present::printable(profile::program_name(process)), process.pid);
  }
  return present::paint(style, present::Role::kFaint, present::wrap(out + ".", 0, style.width)) +
         "\n";
}

present::Grid site_grid(const std::vector<TableLine>& lines, bool has_share) {
  std::vector<present::Column> columns;
  present::append_figure_columns(columns, "");
  if (has_share) present::append_figure_columns(columns, "");
  columns.push_back({"", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (const TableLine& line : lines) {
    if (line.self.samples == 0) continue;
    std::vector<std::string> cells;
    present::append_figure(
        cells, present::figure(present::shown_bytes(line.self), present::Quantity::kBytes));
    if (has_share) present::append_figure(cells, share_figure(line));
    cells.push_back(present::printable(line.name));
    const std::string where = text_of(line.where);
    grid.add(std::move(cells), present::printable(where.empty() ? line.detail : where));
    grid.name(line.name, line.detail, line.where.line);
  }
  return grid;
}

std::string site_list(std::string_view title, const std::vector<TableLine>& lines,
                      const present::Style& style) {
  if (lines.empty()) return "";
  present::Grid grid = site_grid(lines, true);
  if (!grid.has_room_for_names(style) || !grid.has_room_for_places(style)) {
    grid = site_grid(lines, false);
  }
  return fmt::format("\n{}\n{}", present::paint(style, present::Role::kHeading, title),
                     grid.text(style));
}

std::string warning_list(const SummaryReport& report, const Recording& recording,
                         const present::Style& style) {
  const std::vector<std::string> lines = summary_warnings(report, recording);
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), kWarningsShown); ++i) {
    out +=
        present::paint(style, present::Role::kWarning, "warning: " + present::printable(lines[i])) +
        "\n";
  }
  if (lines.size() > kWarningsShown) {
    out += fmt::format("and {} more\n", present::plural(lines.size() - kWarningsShown, "warning"));
  }
  return out.empty() ? "" : "\n" + out;
}

std::string warning_sentence(const std::string& sentence, const present::Style& style) {
  return present::paint(style, present::Role::kWarning,
                        present::wrap(present::printable(sentence), 0, style.width)) +
         "\n";
}

/// The findings, wrapped: the heap's, and that of mappings where they are more.
std::string finding_lines(const SummaryReport& report, const present::Style& style) {
  std::string out;
  const auto add = [&](const Finding& finding) {
    out += present::paint(style, present::Role::kHeading,
                          present::wrap(sentence(finding), 0, style.width)) +
           "\n";
  };
  const std::string lacks = profile::missing_part(report.gaps);
  if (!lacks.empty()) out += warning_sentence(present::incomplete_text(lacks), style);
  if (!report.fault.empty()) out += warning_sentence(present::as_sentence(report.fault), style);
  if (!report.leak.empty()) out += warning_sentence(report.leak, style);
  if (report.mapped_finding) add(*report.mapped_finding);
  const bool says_something = report.finding.verdict != FindingVerdict::kNothing;
  if (says_something || !report.mapped_finding) add(report.finding);
  if (report.beside) add(*report.beside);
  if (!report.leak_note.empty()) {
    const std::string note = present::as_sentence(present::printable(report.leak_note));
    out += present::wrap(note, 0, style.width) + "\n";
  }
  return out + "\n";
}

/// What makes the table begin with what the report opens on: its kind, and the order by what
/// functions hold with all that they call, if it names one for that.
std::string table_options(const SummaryReport& report) {
  const Finding& first = report.mapped_finding ? *report.mapped_finding : report.finding;
  std::string out;
  if (first.kind != profile::Kind::kAllocated) {
    out += fmt::format(" --kind {}", profile::name_of(first.kind));
  }
  const bool is_passed_through =
      !first.sites.empty() && !first.sites.front().is_blamed &&
      (first.verdict == FindingVerdict::kFound || first.sites.front().owned > 0);
  return is_passed_through ? out + " --sort total" : out;
}

/// How the samples compare with what was counted.
std::string allocated_remark(const SummaryReport& report) {
  const std::string counted = report.exact.unsettled_bound > 0 ? "counted" : "exact";
  if (report.allocated.bytes.variance <= 0) return counted;
  const bool is_chance = report.is_z_known && std::abs(report.exact.z) < kMostByChance;
  const std::string miss = present::miss_text(report.allocated.bytes, report.exact, report.hits);
  return fmt::format("{}; samples {}: {}", counted,
                     !is_chance     ? "say"
                     : miss.empty() ? "agree"
                                    : "are " + miss,
                     bytes_text(report.allocated));
}

/// The modules without symbols that the findings and `lines` name.
present::UnnamedModules unnamed_in(const SummaryReport& report, std::span<const TableLine> lines) {
  present::UnnamedModules unnamed(report.absent);
  const auto see = [&](const Finding& finding) {
    for (const FoundSite& site : finding.sites) unnamed.see(site.function);
  };
  if (report.mapped_finding) see(*report.mapped_finding);
  see(report.finding);
  if (report.beside) see(*report.beside);
  for (const TableLine& line : lines) unnamed.see(line.name);
  return unnamed;
}

/// What to type to see more of the finding.
std::string next_command(const SummaryReport& report) {
  const std::string run = present::behind_command(report.options.run);
  if (!report.fault.empty()) return fmt::format("geiger faults{}", run);
  if (!report.leak.empty() || !report.leak_note.empty()) return fmt::format("geiger leaks{}", run);
  return fmt::format("geiger table{}{}", run, table_options(report));
}

}  // namespace

std::string to_text(const SummaryReport& report, const Recording& recording,
                    const present::Style& style) {
  if (recording.processes.empty()) {
    return heading(report, recording, style) + warning_list(report, recording, style);
  }
  std::string out = finding_lines(report, style) + heading(report, recording, style);
  out +=
      present::paint(style, present::Role::kFaint,
                     fmt::format("± and [ ] are {} intervals", present::level_text(style.level))) +
      "\n";
  out += whose_lines(report, recording, style) + scope_lines(report) + "\n";
  out += fact_lines(report, recording, style);
  if (!report.is_part() && !is_foreign(report)) out += process_list(report, recording, style);
  out += site_list("Most allocated, by function", report.top_allocated, style);
  out += site_list("Most live at the peak, by function", report.top_live_at_peak, style);
  auto lines = report.top_allocated;
  lines.insert(lines.end(), report.top_live_at_peak.begin(), report.top_live_at_peak.end());
  const std::string unnamed = unnamed_in(report, lines).sentence(report.options.run);
  if (!unnamed.empty()) out += "\n" + present::wrap(unnamed, 0, style.width) + "\n";
  const std::string hint = present::compiled_code_hint(recording);
  if (!hint.empty()) out += "\n" + present::wrap(hint, 0, style.width) + "\n";
  out += warning_list(report, recording, style);
  const bool has_more = report.samples > 0 || report.mapped_finding;
  return has_more ? out + fmt::format("\nnext: {}\n", next_command(report)) : out;
}

std::string closing_lines(const SummaryReport& report, const Recording& recording,
                          const present::Style& style) {
  std::string out;
  const auto say = [&](std::string_view what, present::Role role) {
    if (what.ends_with('.')) what.remove_suffix(1);
    out += fmt::format("geiger: {}\n", present::paint(style, role, what));
  };
  if (!report.fault.empty()) say(present::printable(report.fault), present::Role::kWarning);
  for (const Process& process : recording.processes) {
    if (process.end_signal == 0) continue;
    say(fmt::format("{} (pid {}) was {}", present::printable(profile::program_name(process)),
                    process.pid, present::killed_text(process)),
        present::Role::kWarning);
  }
  if (!report.leak.empty()) say(present::printable(report.leak), present::Role::kWarning);
  if (report.mapped_finding) say(clause(*report.mapped_finding), present::Role::kHeading);
  if (report.finding.verdict != FindingVerdict::kNothing) {
    say(clause(report.finding), present::Role::kHeading);
  }
  if (report.beside) say(clause(*report.beside), present::Role::kHeading);
  if (!report.advice.empty()) say(present::printable(report.advice), present::Role::kHeading);
  if (!report.leak_note.empty()) say(present::printable(report.leak_note), present::Role::kFaint);
  const std::string unnamed = unnamed_in(report, {}).clause();
  if (!unnamed.empty()) say(unnamed, present::Role::kFaint);
  const std::string hint = present::compiled_code_hint(recording);
  if (!hint.empty()) say(hint, present::Role::kFaint);
  out += fmt::format("geiger: allocated {} ({}), in {}\n", exact_total_text(report),
                     allocated_remark(report), present::plural(report.samples, "sample"));
  const std::string peak =
      report.is_aggregated ? "" : fmt::format("at the peak {}, ", bytes_text(report.live_at_peak));
  out += fmt::format("geiger: live {}{} {}\n", peak,
                     report.end == present::kBeforeFinalization ? report.end : "at the end",
                     bytes_text(report.live_at_end));
  if (report.rss) {
    out += fmt::format("geiger: {}; see geiger rss\n", explained_line(*report.rss));
  }
  if (all_drops(report) > 0) {
    out += fmt::format("geiger: {} dropped; see geiger summary\n",
                       present::exact_count(all_drops(report)));
  }
  for (const std::string& line : present::frameless_lines(recording)) {
    say(line, present::Role::kWarning);
  }
  for (const std::string& line : present::refused_lines(recording)) {
    say(line, present::Role::kWarning);
  }
  for (const Process& process : recording.processes) {
    if (process.ending != profile::Ending::kSwitchedOff) continue;
    out += present::paint(
               style, present::Role::kWarning,
               fmt::format("geiger: pid {}: {}", process.pid, present::ending_text(process))) +
           "\n";
  }
  return out + fmt::format("geiger: next: {}, or geiger summary{}\n", next_command(report),
                           present::behind_command(report.options.run));
}

}  // namespace geiger::report
