// `stats`: what the allocations were like: sizes, entry points, lifetimes,
// threads, depth of stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"

namespace geiger::report {

struct StatsOptions {
  double level = 0.95;       ///< In (0, 1).
  std::size_t threads = 20;  ///< Threads listed, those with most bytes; 0 = all.
  profile::Selection selection = {};
  present::Scope scope = {};  ///< What the selection is, in words.
};

/// A named group of the samples selected.
struct Group {
  std::string name;
  present::Measure measure;
};

/// Allocations of least..most requested bytes.
struct SizeClass {
  Bytes least = 0, most = 0;
  present::Measure measure;
};

/// Samples whose stack has least..most frames.
struct DepthClass {
  std::uint64_t least = 0, most = 0, samples = 0;
};

struct ThreadLine {
  std::uint32_t thread = profile::kNone;  ///< Index into Recording::threads.
  Bytes exact_bytes = 0;                  ///< Counted up to the thread's last settling,
                                          ///< over the whole recording.
  present::Measure measure;
};

struct StatsReport {
  StatsOptions options;
  present::Measure total;
  std::vector<SizeClass> sizes;     ///< Powers of two, from the smallest seen to the largest.
  std::vector<Group> entry_points;  ///< Largest first.
  std::vector<Group> lifetimes;     ///< Shortest first, then "still live at the end".
  std::vector<DepthClass> depths;
  std::uint64_t truncated_samples = 0;
  std::vector<ThreadLine> threads;  ///< Largest first; of a part only those sampled in it.
  std::uint64_t thread_count = 0;
  bool is_split = false;                          ///< A quarter of the samples chose an instant.
  std::vector<profile::ProcessTotals> processes;  ///< In order of the recording.
};

/// Whether it leaves anything allocated out, so that nothing counted is of it.
[[nodiscard]] bool is_part(const StatsReport& report);

[[nodiscard]] StatsReport stats_report(const profile::Recording& recording,
                                       const StatsOptions& options);

[[nodiscard]] std::string to_text(const StatsReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const StatsReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<StatsReport>>& fields_of(
    present::Of<present::InRecording<StatsReport>> /*type*/);

/// "worker (tid 123)", or "tid 123" of a thread without a name. Not printable yet.
[[nodiscard]] std::string thread_name(const profile::Thread& thread);

}  // namespace geiger::report
