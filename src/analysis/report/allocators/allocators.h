// `compare-malloc`: one program under several allocators, side by side.
//
// Processor time and peak memory are the kernel's figures for runs without geiger, one under each
// allocator in turn, so that a disturbance of a round affects all of them. The memory that an
// allocator keeps beside the live heap comes from one recorded run under each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::report {

/// With fewer runs under each, no allocator is called better: run-to-run variation would be
/// estimated from a single difference.
inline constexpr std::size_t kLeastRounds = 3;

/// One run, as the kernel counts it.
struct AllocatorTrial {
  double cpu = 0;  ///< Seconds, user and system, with the processes that it waited for.
  Bytes peak = 0;  ///< The largest RSS of any of its processes.
};

/// From a recorded run; nothing if unknown.
struct AllocatorMemory {
  std::optional<estimation::Estimate> kept;      ///< Overhead, caches, free; at the largest RSS.
  std::optional<estimation::Estimate> stranded;  ///< Free, but held by live objects of its page.
};

struct AllocatorRuns {
  std::string name;         ///< "mimalloc"; of the program's own: its library, empty if not known.
  std::string version;      ///< Empty: not known.
  std::string path;         ///< Empty: the program's own.
  bool is_own_too = false;  ///< It is the program's own allocator.
  std::vector<AllocatorTrial> trials;
  AllocatorMemory memory;
  /// Why it is left out: "ended with exit code 1 under it"; then there are no trials.
  std::string fault;
};

struct AllocatorLine {
  AllocatorRuns runs;
  estimation::Estimate cpu, peak;              ///< Means.
  estimation::Estimate cpu_ratio, peak_ratio;  ///< To the program's own.
  /// At a level at which the probability that any upper limit of all comparisons, of either figure,
  /// is too low is at most 1 - level.
  estimation::Estimate joint_cpu_ratio, joint_peak_ratio;
  /// Takes significantly less than the program's own, by these.
  bool takes_less_cpu = false, takes_less_memory = false;
};

struct AllocatorsReport {
  double level = 0.95;
  std::string program;               ///< As typed.
  std::string ending;                ///< How every run failed: "exit code 2"; empty: none did.
  std::size_t rounds = 0;            ///< Runs under each allocator.
  std::vector<AllocatorLine> lines;  ///< The program's own first.
};

/// `runs`: the program's own first, with at least one trial.
[[nodiscard]] AllocatorsReport allocators_report(std::vector<AllocatorRuns> runs, double level);

/// The memory that the allocator keeps, by a recording; `level` in (0, 1).
[[nodiscard]] AllocatorMemory allocator_memory(const profile::Recording& recording, double level);

/// "0.55 [0.53, 0.57]"; "0.55, one run" if its error is unknown.
[[nodiscard]] std::string ratio_text(const estimation::Estimate& ratio);
/// "mimalloc 2.0.9"; "its own (libc.so.6)".
[[nodiscard]] std::string name_of(const AllocatorRuns& runs);

[[nodiscard]] std::string to_text(const AllocatorsReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const AllocatorsReport& report);
[[nodiscard]] const present::Fields<AllocatorsReport>& fields_of(
    present::Of<AllocatorsReport> /*type*/);

}  // namespace geiger::report
