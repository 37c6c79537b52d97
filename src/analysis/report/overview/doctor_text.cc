#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/names.h"
#include "analysis/present/text.h"
#include "analysis/profile/labels.h"
#include "analysis/report/overview/doctor.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::Recording;

constexpr std::size_t kFindingIndent = 10;

std::string heading(const DoctorReport& report, const Recording& recording,
                    const present::Style& style) {
  if (recording.processes.empty()) return "The recording is empty: it contains no process.\n";
  const Process& main = profile::main_process(recording);
  std::string name = present::printable(profile::program_name(main));
  std::string out = fmt::format("{}, pid {}", present::paint(style, present::Role::kHeading, name),
                                present::pid_text(main));
  if (recording.processes.size() > 1) {
    const std::size_t more = recording.processes.size() - 1;
    out += fmt::format(" and {} more {}", present::exact_count(more),
                       more == 1 ? "process" : "processes");
  }
  const auto defects =
      std::ranges::count(report.diagnoses, Severity::kDefect, &Diagnosis::severity);
  if (defects == 0) return out + ": healthy\n";
  return out + ": " +
         present::paint(style, present::Role::kWarning,
                        present::plural(static_cast<std::uint64_t>(defects), "defect") + " found") +
         "\n";
}

std::string mark(Severity severity, const present::Style& style) {
  switch (severity) {
    case Severity::kGood:
      return present::paint(style, present::Role::kFaint, "good    ");
    case Severity::kNote:
      return "note    ";
    case Severity::kDefect:
      return present::paint(style, present::Role::kWarning, "DEFECT  ");
  }
  return "";
}

/// Under the first line of a diagnosis, in line with it.
std::string under(std::string_view text, const present::Style& style) {
  if (text.empty()) return "";
  return std::string(kFindingIndent, ' ') +
         present::wrap(present::printable(text), kFindingIndent, style.width) + "\n";
}

std::string finding_text(const Diagnosis& diagnosis, const present::Style& style) {
  std::string out = "  " + mark(diagnosis.severity, style) +
                    present::wrap(present::printable(diagnosis.what), kFindingIndent, style.width) +
                    "\n";
  out += under(diagnosis.meaning, style);
  if (!diagnosis.next.empty()) out += under("-> " + diagnosis.next, style);
  return out;
}

std::string process_list(const DoctorReport& report, const Recording& recording,
                         const present::Style& style) {
  if (report.processes.size() < 2) return "";
  std::vector<present::Column> columns;
  for (const char* heading : {"pid", "hits", "expected", "z", "p(hits)", "p(offsets)"}) {
    columns.push_back({heading, present::Align::kRight, false});
  }
  columns.push_back({"program", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (std::size_t i = 0; i < std::min(report.processes.size(), present::kProcessesShown); ++i) {
    const ProcessCheck& check = report.processes[i];
    const Process& process = recording.processes[check.index];
    grid.add(
        {std::to_string(process.pid), present::exact_count(check.hits.hits),
         fmt::format("{:.4g}", check.hits.expected), present::z_score(check.hits.z),
         present::p_value_text(check.hits.p_value), present::p_value_text(check.offsets.p_value()),
         present::printable(profile::program_name(process))},
        present::ending_text(process));
  }
  std::string out = fmt::format(
      "\n{}\n{}", present::paint(style, present::Role::kHeading, "Processes"), grid.text(style));
  if (report.processes.size() <= present::kProcessesShown) return out;
  return out + fmt::format("  and {} more\n", report.processes.size() - present::kProcessesShown);
}

}  // namespace

std::string to_text(const DoctorReport& report, const Recording& recording,
                    const present::Style& style) {
  std::string out = heading(report, recording, style) + "\n";
  for (const Diagnosis& diagnosis : report.diagnoses) out += finding_text(diagnosis, style);
  out += process_list(report, recording, style);
  const std::string run = present::behind_command(report.options.run);
  return out + (report.is_healthy() ? fmt::format("\nnext: geiger table{}\n", run) : "");
}

}  // namespace geiger::report
