// The facts of a summary in words, one by one: what `summary` prints and pages show.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/recording.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {

/// Texts are as recorded: neutralise what a terminal would obey (text.h).
struct SummaryFact {
  std::string label;  ///< Empty: a further line of the fact before.
  std::string value;
  std::string remark = {};  ///< What explains the value; may be empty.
  bool is_warning = false;
};

/// Whether it is of a profile that another program wrote.
[[nodiscard]] inline bool is_foreign(const SummaryReport& report) {
  return !report.options.origin.empty();
}

/// Interval, samples, estimates, exact total, drops ... in the order of reading.
[[nodiscard]] std::vector<SummaryFact> summary_facts(const SummaryReport& report,
                                                     const profile::Recording& recording);

/// Reasons to doubt the numbers, one sentence each.
[[nodiscard]] std::vector<std::string> summary_warnings(const SummaryReport& report,
                                                        const profile::Recording& recording);

/// Of the main process; empty where no process was seen.
[[nodiscard]] std::string program_text(const profile::Recording& recording);

/// "pid 4711: exited after 2.5 s; 3 process images in all, 4 s".
[[nodiscard]] std::string what_ran(const profile::Recording& recording);

/// "132 MiB", "132 MiB + at most 512 KiB" of threads that were cut off.
[[nodiscard]] std::string exact_total_text(const SummaryReport& report);

/// "812 MiB ± 25".
[[nodiscard]] std::string bytes_text(const present::Measure& measure);

}  // namespace geiger::report
