// `summary`: what ran, how well it was seen, and where to look next, with its facts in words.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/selfcheck.h"
#include "analysis/profile/select/totals.h"
#include "analysis/report/faults/faults.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/finding.h"
#include "analysis/report/overview/rss.h"
#include "analysis/report/profiles/table.h"

namespace geiger::report {

// `summary`: what ran, how well it was seen, and where to look next.

struct SummaryOptions {
  double level = 0.95;    ///< In (0, 1).
  std::string run;        ///< As the user named it, for the commands to type next; may be empty.
  std::size_t sites = 5;  ///< Rows of each list of sites; 0: no lists.
  /// Also a line for each further kind of profile that the recording has; a pass over
  /// all samples each.
  bool has_all_kinds = false;
  /// Also the self-check and a line for each process, of which closing_lines() says nothing; a few
  /// passes over all samples.
  bool has_checks = true;
  /// Also the largest saving that `advise` is sure of; several passes over all samples.
  bool has_advice = false;
  /// Of kind kAllocated: what allocated bytes are of. The peak is then the one within its
  /// window, and what was live at the end is what was at the window's.
  profile::Selection selection = {};
  present::Scope scope = {};  ///< What the selection is, in words.
  /// The recording is a picture that follows a run: its end is now.
  bool is_followed = false;
  /// For profiles that other programs wrote: what they are and what their numbers rest on, a line
  /// each. Such profiles have no exact totals, drops or threads of their own.
  std::vector<std::string> origin = {};
};

/// One image: what is known exactly of it, and its estimate.
struct ProcessLine {
  std::uint32_t index = 0;  ///< Into Recording::processes.
  std::uint64_t samples = 0;
  profile::ProcessTotals exact;
  present::Measure allocated;
  present::Measure own_peak;      ///< Of its heap alone, at its own instant.
  Nanoseconds own_peak_time = 0;  ///< After the start of the recording.
  profile::ProcessorTime processor_time = {};
};

/// The program's own mappings, over all processes.
struct MappedLine {
  Bytes at_peak = 0;              ///< Accessible memory; the sum of each process's largest.
  profile::MappedBytes at_end;    ///< In force when the recording ended.
  bool is_seen = false;           ///< Anything was mapped.
  bool misses_inherited = false;  ///< A child by fork had maps of its parent besides.
};

/// Processes that others made by fork.
struct ForkedLine {
  std::uint64_t children = 0;
  /// What a fork by an inlined system call may have let pass, each: it starts with what its
  /// parent's countdown had left, less than the interval unless trials are pure. 0: nothing.
  Bytes may_pass_unseen = 0;
};

/// A kind that sums something else than sizes.
struct KindLine {
  profile::Kind kind = profile::Kind::kLiveOverhead;
  present::Measure measure;
  std::optional<present::AskedInside> asked = {};
};

struct SummaryReport {
  SummaryOptions options;
  std::set<std::string> absent;  ///< present::absent_modules().
  Finding finding;               ///< What the report opens with.
  /// The finding about the program's own mappings, where they are more than its live heap ever was.
  std::optional<Finding> mapped_finding;
  std::optional<Finding> beside;  ///< What is said beside the first finding (find_opening).
  std::string fault;  ///< The sentence on the first fault of a guarded run; empty: none was seen.
  GuardedObjects guarding;  ///< Of whole recordings.
  std::string advice;  ///< The clause on a large saving (advice.h); of has_advice; may be empty.
  std::string leak;    ///< The sentence on the first leak suspect; empty without suspects.
  /// That a site may be one, or that none was looked for; else empty.
  std::string leak_note;
  std::uint64_t samples = 0;  ///< Certain ones included.
  std::uint64_t certain_samples = 0;
  profile::ProcessTotals exact;
  bool is_z_known = false;  ///< Every hit has its sample, so that ProcessTotals::z says something.
  profile::HitCheck hits;   ///< Over all processes; of has_checks.
  estimation::OffsetReport offsets;  ///< Where drawn bytes lie, over all processes; of has_checks.
  std::vector<profile::Gap> gaps;    ///< What the recording lacks.
  bool misses_total = false;  ///< The estimate of a process misses its exact total beyond chance;
                              ///< of has_checks.
  present::Measure allocated, live_at_end, live_at_peak;
  MappedLine mapped;
  ForkedLine forked;
  std::vector<KindLine> kinds;            ///< Of SummaryOptions::has_all_kinds, those with samples.
  std::optional<LifetimeLine> lifetimes;  ///< The whole; of has_all_kinds.
  std::string end;                        ///< Scope::end of what is live at the end.
  bool is_peak_split = false;
  bool is_aggregated = false;  ///< Of a process at least: no peak, no lifetimes are known.
  Nanoseconds peak_time = 0;   ///< After the start: when all processes together held most.
  Nanoseconds duration = 0;    ///< From the first start to the last end.
  profile::ProcessorTime processor_time;
  double detection_limit = 0;   ///< Bytes.
  std::uint64_t truncated = 0;  ///< Samples whose stack was cut off.
  std::uint64_t stacks = 0;
  vocabulary::Drops drops{};           ///< Over all processes.
  std::vector<ProcessLine> processes;  ///< In order of their starts; of has_checks.
  std::vector<TableLine> top_allocated, top_live_at_peak;
  /// The account of the process whose resident memory was largest; nothing if none was observed.
  std::optional<RssReport> rss;

  /// Counts and self-checks are of the whole recording, not of a part.
  [[nodiscard]] bool is_part() const { return options.selection.is_part(); }
};

[[nodiscard]] SummaryReport summary_report(const profile::Recording& recording,
                                           const SummaryOptions& options);

[[nodiscard]] std::string to_text(const SummaryReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const SummaryReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<SummaryReport>>& fields_of(
    present::Of<present::InRecording<SummaryReport>> /*type*/);

/// The few lines that `run` prints at the end: samples, totals, peak, losses and
/// what to type next.
[[nodiscard]] std::string closing_lines(const SummaryReport& report,
                                        const profile::Recording& recording,
                                        const present::Style& style);

/// The outcome of the recording's self-check.
enum class SelfCheck : std::uint8_t {
  kPassed,     ///< Hits, offsets and totals are such as a right sampler gives.
  kUndecided,  ///< What is missing may be why they are not, or that they are.
  kFailed,
};
[[nodiscard]] SelfCheck self_check_of(const SummaryReport& report);
[[nodiscard]] std::string_view name_of(SelfCheck check);  ///< "passed", "undecided", "failed".

/// The first gap that leaves estimates of allocated bytes incomplete, if any does.
[[nodiscard]] const profile::Gap* gap_in_samples(const SummaryReport& report);

/// Samples and frees that could not be recorded, all causes.
[[nodiscard]] std::uint64_t all_drops(const SummaryReport& report);

// The facts of a summary in words, one by one: what `summary` prints and pages show.

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
