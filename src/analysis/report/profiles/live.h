// `live`: a running program at one instant, and how its memory developed up to then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/measure.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "analysis/report/profiles/live_growth.h"
#include "analysis/report/profiles/table.h"

namespace geiger::report {

/// Readings of a followed process besides its trace.
struct LiveProcess {
  std::uint32_t index = 0;  ///< Into Recording::processes.
  std::uint32_t pid = 0;
  std::string name;
  std::string state;   ///< "recording", "paused", "ended" ...
  Bytes resident = 0;  ///< 0: gone or unknown.
};

/// Changes since watching began, and since a more recent instant.
struct LiveChanges {
  LiveChange start;
  std::optional<LiveChange> recent;
};

/// Of which of them the table is sorted, and shown.
enum class GrowthOf : std::uint8_t { kSinceStart, kRecent };

struct LiveOptions {
  profile::Kind kind = profile::Kind::kLiveAtEnd;  ///< Of the table; or kAllocated.
  TableOptions table;
  /// Instead of by `table.sort`: the rows that grew most first, where that is known.
  bool sorts_by_growth = false;
  GrowthOf growth_of = GrowthOf::kSinceStart;
  std::optional<std::uint32_t> process;  ///< Only this one; nothing: all together.
  /// Which samples are counted, which `table.scope` has in words; empty: all of them.
  profile::Keeps keeps = {};
  Nanoseconds now =
      0;  ///< CLOCK_MONOTONIC, while something is recorded; 0: as of the latest record.
};

struct LiveReport {
  LiveOptions options;
  Nanoseconds elapsed = 0;  ///< Since the recording began, to its end or to now.
  std::vector<LiveProcess> processes;
  Bytes interval = 0;  ///< In force: the latest that was drawn with.
  std::uint64_t samples = 0, live_samples = 0;
  std::uint64_t dropped = 0;
  /// Allocated by the processes shown, whatever `keeps` selects: exact but for at most
  /// `unsettled` more that threads have not reported yet.
  Bytes exact_bytes = 0, unsettled = 0;
  present::Measure allocated, live;
  double detection_limit = 0;  ///< Bytes; of `live`.
  Bytes resident = 0;          ///< Of the processes shown; 0: none runs.
  std::uint32_t thinning = 0;  ///< Largest level among them.
  TableReport table;
  GrowthReport growth;              ///< Of what lives, whatever `kind`.
  std::vector<LiveGrowth> growths;  ///< By row of a table of what lives, where they are known.
};

/// Of a picture (analysis/follow); `processes` are all that are followed.
[[nodiscard]] LiveReport live_report(const profile::Recording& picture,
                                     std::vector<LiveProcess> processes, const LiveOptions& options,
                                     const std::optional<LiveChanges>& changes = std::nullopt);

/// One line (docs/guide/json.md).
[[nodiscard]] std::string to_json(const LiveReport& report, const profile::Recording& picture);
[[nodiscard]] const present::Fields<present::InRecording<LiveReport>>& fields_of(
    present::Of<present::InRecording<LiveReport>> /*type*/);

}  // namespace geiger::report
