#include "analysis/report/overview/doctor.h"

#include <algorithm>
#include <array>

#include "analysis/present/text.h"
#include "analysis/profile/profile.h"
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
  report.diagnoses = std::move(diagnoses);
  return report;
}

std::string_view name_of(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"good", "note", "defect"};
  return kNames.at(static_cast<std::size_t>(severity));
}

}  // namespace geiger::report
