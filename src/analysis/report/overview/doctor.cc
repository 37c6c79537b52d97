#include "analysis/report/overview/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/profile.h"
#include "analysis/report/faults/faults.h"
#include "analysis/report/overview/doctor_checks.h"

namespace geiger::report {

namespace {

using profile::Recording;

ProcessCheck check_process(const Recording& recording, std::uint32_t index) {
  return {index, profile::check_hits(recording, index), profile::check_offsets(recording, index),
          profile::account(recording, index),
          profile::compare_with_exact(recording, index, profile::process_totals(recording, index))};
}

}  // namespace

bool DoctorReport::is_healthy() const {
  return std::ranges::none_of(diagnoses, [](const Diagnosis& diagnosis) {
    return diagnosis.severity == Severity::kDefect;
  });
}

DoctorReport doctor_report(const Recording& recording, const DoctorOptions& options) {
  DoctorReport report;
  report.options = options;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    report.processes.push_back(check_process(recording, i));
  }
  report.hits = profile::check_hits(recording);
  report.offsets = profile::check_offsets(recording);
  report.shared = profile::shared_draws(recording);
  const profile::Profile allocated = select(recording, profile::Kind::kAllocated);
  const CheckInput input{recording,
                         report,
                         estimation::estimate_bytes(total(recording, allocated), options.level),
                         profile::all_totals(recording),
                         estimation::detection_limit(allocated.largest_interval, options.level),
                         present::behind_command(options.run)};
  constexpr std::array kChecks{check_damage,   check_ending, check_traces,  check_hits,
                               check_offsets,  check_draws,  check_samples, check_total,
                               check_threads,  check_drops,  check_stacks,  check_names,
                               check_detection};
  std::vector<Diagnosis> diagnoses;
  diagnoses.reserve(kChecks.size());
  for (const auto check : kChecks) diagnoses.push_back(check(input));
  if (!recording.interpreters.empty()) diagnoses.push_back(check_interpreters(input));
  const bool is_watched = std::ranges::any_of(recording.observations, &profile::Observations::cost);
  if (is_watched) diagnoses.push_back(check_watching(input));
  if (guarding_of(recording).is_on) diagnoses.push_back(check_guarding(input));
  report.diagnoses = std::move(diagnoses);
  return report;
}

std::string_view name_of(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"good", "note", "defect"};
  return kNames.at(static_cast<std::size_t>(severity));
}

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

namespace geiger::present {

using profile::Accounting;
using profile::Agreement;
using profile::SharedDraws;

static const Fields<Agreement>& fields_of(Of<Agreement> /*type*/) {
  static const auto kFields =
      Fields<Agreement>("agreement", "The estimate of a process against what it counted.")
          .field("agrees", "", [](const Agreement& it) { return !it.has_failed(); })
          .field("estimate", "its interval misses once in a million", &Agreement::estimate)
          .field("exact_least", "without what is not settled", &Agreement::least)
          .field("exact_most", "with it", &Agreement::most);
  return kFields;
}

static const Fields<Accounting>& fields_of(Of<Accounting> /*type*/) {
  static const auto kFields =
      Fields<Accounting>("accounting", "Samples that were counted, and those in the trace.")
          .field("counted", "", &Accounting::counted)
          .field("found", "", &Accounting::found)
          .field("dropped", "", &Accounting::dropped)
          .field("in_flight", "threads that were cut off; each may lack its last sample",
                 &Accounting::in_flight)
          .field("missing", "counted, not found, and explained by nothing",
                 [](const Accounting& it) { return it.missing(); })
          .field("surplus", "found, but never counted",
                 [](const Accounting& it) { return it.surplus(); });
  return kFields;
}

static const Fields<InRecording<SharedDraws>>& fields_of(Of<InRecording<SharedDraws>> /*type*/) {
  static const auto kFields =
      Fields<InRecording<SharedDraws>>("shared_draws", "Threads that drew the same numbers.")
          .field("threads", "", &SharedDraws::threads)
          .field("samples", "alike in each, from the first on", &SharedDraws::samples)
          .field("log10_p", "of the probability of that by chance", &SharedDraws::log10_p)
          .or_null()
          .field("pids", "", [](const InRecording<SharedDraws>& it) {
            std::vector<std::uint32_t> pids;
            for (const std::uint32_t process : it.it.processes) {
              pids.push_back(it.recording.processes[process].pid);
            }
            return pids;
          });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

namespace {

using present::Fields;
using present::InRecording;
using present::Of;
}  // namespace

static const Fields<Diagnosis>& fields_of(Of<Diagnosis> /*type*/) {
  static const auto kFields =
      Fields<Diagnosis>("diagnosis", "A check and what it found.")
          .field("check", "", &Diagnosis::check)
          .field("severity", "", [](const Diagnosis& it) { return name_of(it.severity); })
          .one_of({"good", "note", "defect"})
          .field("what", "a sentence with the figures", &Diagnosis::what)
          .field("meaning", "what it does to the numbers; empty if nothing", &Diagnosis::meaning)
          .field("next", "what to do; empty if nothing", &Diagnosis::next);
  return kFields;
}

static const Fields<InRecording<ProcessCheck>>& fields_of(Of<InRecording<ProcessCheck>> /*type*/) {
  using Checked = InRecording<ProcessCheck>;
  static const auto kFields =
      Fields<Checked>("checked_process")
          .field("pid", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].pid; })
          .field("executable", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].executable; })
          .field("trace", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].trace_path; })
          .field("seed", "",
                 [](const Checked& it) { return it.recording.processes[it.it.index].seed; })
          .field("ending", "",
                 [](const Checked& it) {
                   return present::ending_key(it.recording.processes[it.it.index].ending);
                 })
          .one_of(present::texts_of<profile::Ending>(present::ending_key))
          .field("hits", "", &ProcessCheck::hits)
          .field("offsets", "", &ProcessCheck::offsets)
          .field("total", "", &ProcessCheck::agreement)
          .field("samples", "", &ProcessCheck::accounting);
  return kFields;
}

const Fields<InRecording<DoctorReport>>& fields_of(Of<InRecording<DoctorReport>> /*type*/) {
  using Document = InRecording<DoctorReport>;
  static const auto kFields =
      Fields<Document>("doctor")
          .field("level", "", [](const DoctorReport& it) { return it.options.level; })
          .field("healthy", "no defects", [](const DoctorReport& it) { return it.is_healthy(); })
          .field("findings", "every check once", &DoctorReport::diagnoses)
          .field("hits", "of all processes", &DoctorReport::hits)
          .field("offsets", "of all processes", &DoctorReport::offsets)
          .field("shared_draws", "",
                 [](const Document& it) { return present::each_of(it.it.shared, it.recording); })
          .field("processes", "", [](const Document& it) {
            return present::each_of(it.it.processes, it.recording);
          });
  return kFields;
}

std::string to_json(const DoctorReport& report, const profile::Recording& recording) {
  return present::document("doctor", report, recording);
}

}  // namespace geiger::report
