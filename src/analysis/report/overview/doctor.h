// `doctor`: checks the quality of a recording and reports each problem, as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/selfcheck.h"
#include "estimation/distributions/uniformity.h"

namespace geiger::report {

// `doctor`: checks the quality of a recording and reports each problem in plain words: its effect
// on the numbers and what to do next.

struct DoctorOptions {
  double level = 0.95;      ///< In (0, 1).
  std::string run;          ///< As the user named it, for the commands to type next; may be empty.
  bool is_damaged = false;  ///< Some of the input could not be used.
};

enum class Severity : std::uint8_t {
  kGood,    ///< Tested, nothing found.
  kNote,    ///< A limit of this recording: its numbers hold, within it.
  kDefect,  ///< Numbers may be wrong by more than their intervals say.
};

/// One check and what it found.
struct Diagnosis {
  Severity severity = Severity::kGood;
  std::string_view check;  ///< Identifier: "hits", "offsets", ...
  std::string what;        ///< A sentence with the figures.
  std::string meaning;     ///< What it does to the numbers; empty if nothing.
  std::string next;        ///< What to do; empty if nothing.
};

/// The checks of one process image, in figures.
struct ProcessCheck {
  std::uint32_t index = 0;  ///< Into Recording::processes.
  profile::HitCheck hits;
  estimation::OffsetReport offsets;
  profile::Accounting accounting;
  profile::Agreement agreement;
};

struct DoctorReport {
  DoctorOptions options;
  std::vector<ProcessCheck> processes;
  profile::HitCheck hits;            ///< Over all processes.
  estimation::OffsetReport offsets;  ///< Over all processes.
  std::vector<profile::SharedDraws> shared;
  std::vector<Diagnosis> diagnoses;  ///< Every check once, in a fixed order.

  [[nodiscard]] bool is_healthy() const;
};

[[nodiscard]] DoctorReport doctor_report(const profile::Recording& recording,
                                         const DoctorOptions& options);

[[nodiscard]] std::string to_text(const DoctorReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const DoctorReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<DoctorReport>>& fields_of(
    present::Of<present::InRecording<DoctorReport>> /*type*/);

/// "good", "note", "defect".
[[nodiscard]] std::string_view name_of(Severity severity);

}  // namespace geiger::report
