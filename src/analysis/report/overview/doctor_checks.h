// The checks of `doctor`: of what was recorded, and of how a right sampler behaves.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/totals.h"
#include "analysis/report/overview/doctor.h"
#include "estimation/estimate.h"

namespace geiger::report {

// The checks of `doctor`, one function each. Only for doctor*.cc.

/// Processes, warnings that a diagnosis names; it counts the others.
inline constexpr std::size_t kNamed = 3;

/// The input of the checks.
struct CheckInput {
  const profile::Recording& recording;
  const DoctorReport& report;
  estimation::Estimate allocated;
  profile::ProcessTotals totals;
  double detection_limit = 0;
  std::string run;  ///< " RUN" to put after a command, or empty.

  [[nodiscard]] const profile::Process& process(const ProcessCheck& check) const {
    return recording.processes[check.index];
  }
  /// Half of the interval of the total, as a share of it: an effect below this cannot be
  /// distinguished from chance anyway.
  [[nodiscard]] double uncertain_share() const {
    const double half = (allocated.interval.hi - allocated.interval.lo) / 2;
    return allocated.value > 0 ? half / allocated.value : 1;
  }
};

/// "pid 12: ..., pid 13: ..., and 4 more" of the processes that fail.
template <typename Fails, typename Says>
std::string say_of_each(const CheckInput& input, const Fails& fails, const Says& says) {
  std::string out;
  std::size_t count = 0;
  for (const ProcessCheck& check : input.report.processes) {
    if (!fails(check)) continue;
    if (++count > kNamed) continue;
    out +=
        fmt::format("{}pid {}: {}", count == 1 ? "" : "; ", input.process(check).pid, says(check));
  }
  if (count > kNamed) out += fmt::format("; and {} more", count - kNamed);
  return out;
}

// Checks that depend on chance.
[[nodiscard]] Diagnosis check_hits(const CheckInput& input);
[[nodiscard]] Diagnosis check_offsets(const CheckInput& input);
[[nodiscard]] Diagnosis check_draws(const CheckInput& input);
[[nodiscard]] Diagnosis check_samples(const CheckInput& input);
[[nodiscard]] Diagnosis check_total(const CheckInput& input);
// Checks of what was recorded.
[[nodiscard]] Diagnosis check_damage(const CheckInput& input);
[[nodiscard]] Diagnosis check_ending(const CheckInput& input);
[[nodiscard]] Diagnosis check_traces(const CheckInput& input);
[[nodiscard]] Diagnosis check_threads(const CheckInput& input);
[[nodiscard]] Diagnosis check_drops(const CheckInput& input);
[[nodiscard]] Diagnosis check_stacks(const CheckInput& input);
/// Of recordings with interpreters only.
[[nodiscard]] Diagnosis check_interpreters(const CheckInput& input);
/// Of a recording whose processes were observed from outside.
[[nodiscard]] Diagnosis check_watching(const CheckInput& input);
[[nodiscard]] Diagnosis check_guarding(const CheckInput& input);
[[nodiscard]] Diagnosis check_names(const CheckInput& input);
[[nodiscard]] Diagnosis check_detection(const CheckInput& input);

}  // namespace geiger::report
