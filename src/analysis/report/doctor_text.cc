#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/profile/labels.h"
#include "analysis/report/doctor.h"
#include "analysis/report/format.h"
#include "analysis/report/grid.h"
#include "analysis/report/names.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::Recording;

constexpr std::size_t kFindingIndent = 10;

std::string heading(const DoctorReport& report, const Recording& recording, const Style& style) {
  if (recording.processes.empty()) return "An empty recording: no process was seen.\n";
  const Process& first = recording.processes.front();
  std::string name = printable(profile::file_name_of(first.executable));
  std::string out = fmt::format("{}, pid {}", paint(style, Role::kHeading, name), first.pid);
  if (recording.processes.size() > 1) {
    out += fmt::format(" and {} more", plural(recording.processes.size() - 1, "process image"));
  }
  const auto defects = std::ranges::count(report.findings, Severity::kDefect, &Diagnosis::severity);
  if (defects == 0) return out + ": healthy\n";
  return out + ": " +
         paint(style, Role::kWarning,
               plural(static_cast<std::uint64_t>(defects), "defect") + " found") +
         "\n";
}

std::string mark(Severity severity, const Style& style) {
  switch (severity) {
    case Severity::kGood:
      return paint(style, Role::kFaint, "good    ");
    case Severity::kNote:
      return "note    ";
    case Severity::kDefect:
      return paint(style, Role::kWarning, "DEFECT  ");
  }
  return "";
}

/// Under the first line of a finding, in line with it.
std::string under(std::string_view text, const Style& style) {
  if (text.empty()) return "";
  return std::string(kFindingIndent, ' ') + wrap(printable(text), kFindingIndent, style.width) +
         "\n";
}

std::string finding_text(const Diagnosis& finding, const Style& style) {
  std::string out = "  " + mark(finding.severity, style) +
                    wrap(printable(finding.what), kFindingIndent, style.width) + "\n";
  out += under(finding.meaning, style);
  if (!finding.next.empty()) out += under("-> " + finding.next, style);
  return out;
}

std::string process_list(const DoctorReport& report, const Recording& recording,
                         const Style& style) {
  if (report.processes.size() < 2) return "";
  std::vector<Column> columns;
  for (const char* heading : {"pid", "hits", "expected", "z", "p(hits)", "p(offsets)"}) {
    columns.push_back({heading, Align::kRight, false});
  }
  columns.push_back({"program", Align::kLeft, false});
  Grid grid(std::move(columns), 2);
  for (std::size_t i = 0; i < std::min(report.processes.size(), kProcessesShown); ++i) {
    const ProcessCheck& check = report.processes[i];
    const Process& process = recording.processes[check.index];
    grid.add({std::to_string(process.pid), exact_count(check.hits.hits),
              fmt::format("{:.4g}", check.hits.expected), z_score(check.hits.z),
              p_value_text(check.hits.p_value), p_value_text(check.offsets.p_value()),
              printable(profile::file_name_of(process.executable))},
             ending_text(process));
  }
  std::string out =
      fmt::format("\n{}\n{}", paint(style, Role::kHeading, "Processes"), grid.text(style));
  if (report.processes.size() <= kProcessesShown) return out;
  return out + fmt::format("  and {} more\n", report.processes.size() - kProcessesShown);
}

}  // namespace

std::string to_text(const DoctorReport& report, const Recording& recording, const Style& style) {
  std::string out = heading(report, recording, style) + "\n";
  for (const Diagnosis& finding : report.findings) out += finding_text(finding, style);
  out += process_list(report, recording, style);
  const std::string run =
      report.options.run.empty() ? "" : fmt::format(" {}", printable(report.options.run));
  return out + (report.is_healthy() ? fmt::format("\nnext: geiger table{}\n", run) : "");
}

}  // namespace geiger::report
