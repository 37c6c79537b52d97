// `faults`: wrong uses of memory that guard mode saw, with the stacks that belong to each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::report {

struct FaultsOptions {
  std::size_t top = 20;  ///< Faults listed, the first ones; 0 = all.
};

/// A frame of a stack as reports show it.
struct FaultFrame {
  std::string function;  ///< As demangled.
  std::string module;
  profile::SourceLine where;
};

/// An event of an object, with the shown frames of its stack, leaf first.
struct FaultStack {
  std::string what;        ///< "read", "freed", "allocated".
  Nanoseconds before = 0;  ///< The fault.
  std::uint64_t tid = 0;   ///< 0: not known.
  std::vector<FaultFrame> frames;
};

struct FaultLine {
  std::uint32_t index = 0;  ///< Into Recording::faults.
  std::uint64_t times = 1;  ///< Faults alike: of the same kind, at the same place.
  std::string sentence;     ///< What happened, with function and line of the program's own code.
  std::vector<FaultStack> stacks;  ///< The fault's own first.
};

/// Guard mode in all processes together.
struct GuardedObjects {
  bool is_on = false;         ///< Of any process.
  std::uint64_t rate = 0;     ///< Largest of the processes' rates at their ends.
  bool has_changed = false;   ///< A rate was another before.
  bool is_exact = true;       ///< Of all: reads right behind an object are seen.
  std::uint64_t samples = 0;  ///< Of processes in guard mode.
  std::uint64_t chosen = 0, large = 0, full = 0;
  std::vector<std::string> obstacles;  ///< Why objects of a process were not guarded, each once.
  [[nodiscard]] std::uint64_t guarded() const { return chosen - large - full; }
};

[[nodiscard]] GuardedObjects guarding_of(const profile::Recording& recording);

/// What it did not guard and why, in sentences; "" if all that was chosen.
[[nodiscard]] std::string unguarded_text(const GuardedObjects& guarding);

[[nodiscard]] const present::Fields<GuardedObjects>& fields_of(
    present::Of<GuardedObjects> /*type*/);

struct FaultsReport {
  FaultsOptions options;
  GuardedObjects guarding;
  std::uint64_t faults = 0;      ///< All.
  std::uint64_t kinds = 0;       ///< Of different ones, before `top`.
  std::vector<FaultLine> lines;  ///< In order of time.
};

[[nodiscard]] FaultsReport faults_report(const profile::Recording& recording,
                                         const FaultsOptions& options);

/// The first line of a run's report, "" if no fault was seen.
[[nodiscard]] std::string clause(const FaultsReport& report);

[[nodiscard]] std::string to_text(const FaultsReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const FaultsReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<FaultsReport>>& fields_of(
    present::Of<present::InRecording<FaultsReport>> /*type*/);

}  // namespace geiger::report
