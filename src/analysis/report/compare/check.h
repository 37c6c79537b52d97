// `check`: whether limits are kept, for people, for programs and, as JUnit XML, for CI servers.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/gates.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"

namespace geiger::report {

// `check`: whether limits are kept, for people, for programs and for CI servers.

struct CheckOptions {
  std::vector<std::string> before, after;  ///< The runs as the user named them.
  double level = 0.95;
  std::size_t top = 30;     ///< Sites listed in the text; 0 = all.
  present::Scope scope;     ///< What part of every run is checked, as typed.
  std::string run = "run";  ///< What the runs of a side are: hosts of a fleet.
  std::string per = "run";  ///< What values are per, if there are several runs.
};

struct CheckReport {
  CheckOptions options;
  compare::Verdicts verdicts;
  profile::Kind kind = profile::Kind::kAllocated;
  compare::Grouping grouping;
  compare::SideFacts before, after;
  std::vector<compare::GateSpec> not_compared =
      {};  ///< Growth limits that were skipped: no baseline.
};

[[nodiscard]] std::string to_text(const CheckReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const CheckReport& report);
[[nodiscard]] const present::Fields<CheckReport>& fields_of(present::Of<CheckReport> /*type*/);

/// JUnit XML: one test case per gate. A failed gate is a failure, an undecided one an
/// error: it could not be carried out, and the run must not look green. Sites that
/// pass are one test case together.
[[nodiscard]] std::string to_junit(const CheckReport& report);

/// "+3.1 % [-2, +8]", "212 MiB [190, 240]": what was measured.
[[nodiscard]] std::string measured_text(const compare::GateResult& result);
/// "+5 %", "200 MiB".
[[nodiscard]] std::string limit_text(const compare::Limit& limit);
/// What would decide an undecided gate, as something to type where there is such.
[[nodiscard]] std::string advice(const compare::GateResult& result, const CheckReport& report);

}  // namespace geiger::report
