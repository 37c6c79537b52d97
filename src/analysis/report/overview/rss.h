// `rss`: the resident memory of a process at an instant, added up.
//
// Everything but the live heap is read from the kernel, page by page, so it is exact; the
// live heap is an estimate, and so is what the allocator keeps beside it: together they
// are the resident memory of the allocator's mappings, which is exact again. So the rows
// add up to RSS, and the errors of those two are the same error with opposite signs. Live bytes
// beyond the allocator's mappings are part of other anonymous memory, whose row is then smaller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"

namespace geiger::report {

struct RssOptions {
  double level = 0.95;  ///< In (0, 1).
  profile::Moment moment = profile::Moment::kMaximum;
  std::optional<std::uint32_t> pid;  ///< Of several processes; nothing: the largest.
  std::string run;                   ///< As the user named it, for the commands to type next.
};

enum class RssPart : std::uint8_t {
  kLiveHeap,   ///< Estimated: bytes of live objects on resident pages.
  kAllocator,  ///< The rest of its mappings: overhead, caches, free memory.
  kSeenHeap,   ///< In place of kLiveHeap where objects were not seen.
  kNotSeen,    ///< In place of kAllocator and kAnonymous then: what seen objects do not cover.
  kMapped,     ///< What the program mapped by itself.
  kAnonymous,
  kStacks,
  kFiles,
  kShared,
  kRuntime,
  kOther,
};

/// A row; the values of all rows add up to RSS, unless two ways of counting contradict each other.
struct RssRow {
  RssPart part{};
  estimation::Estimate bytes;  ///< Exact ones have themselves as interval.
  present::Share share;        ///< Of RSS.
};

struct RssReport {
  RssOptions options;
  std::uint32_t process = 0;  ///< Index into Recording::processes.
  std::string whose;  ///< " of NAME (pid N)" where the recording has several processes, else empty.
  Nanoseconds after = 0;  ///< From the start of the process to the instant.
  Bytes resident = 0;     ///< RSS at the instant.
  Bytes swapped = 0;
  Bytes high_water = 0;      ///< The largest RSS by the kernel's own count.
  std::vector<RssRow> rows;  ///< The live heap, or what was seen of it, comes first.
  /// Live objects may have no sample for another reason than chance: they are older than the
  /// recording, or samples were lost.
  bool misses_objects = false;
  double outside = 0;  ///< Live bytes that at least lie outside of mappings with sampled objects.
  double excess = 0;   ///< The same, of all anonymous memory: a contradiction if not 0.
  present::Measure live;  ///< Objects live at the instant, by size.
  present::Measure live_resident, live_swapped, live_untouched;
  std::optional<profile::HeapCensus> census;  ///< Of kLiveHeap and kAllocator together.
  std::string residency_fault;                ///< Then all live bytes are taken to be resident.
  std::vector<profile::SeriesPoint> series;
  std::uint64_t refused = 0;  ///< Readings that failed.
  Nanoseconds cost = 0;       ///< Processor time of all readings.
  Nanoseconds observed = 0;   ///< From the first reading to the last.

  /// Whether shares of RSS mean anything: the instant is near that of the kernel's maximum, if it
  /// stands for that, and nothing is contradictory.
  [[nodiscard]] bool has_shares() const;
};

base::Outcome<RssReport> rss_report(const profile::Recording& recording, const RssOptions& options);

[[nodiscard]] std::string to_text(const RssReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const RssReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<RssReport>>& fields_of(
    present::Of<present::InRecording<RssReport>> /*type*/);

/// "the heap is 71 % ± 2 of resident memory at its largest detailed reading, 812 MiB", of the
/// process with the largest. If it has no share, what RSS was and why; if nothing is known, empty.
[[nodiscard]] std::string explained_line(const RssReport& report);

[[nodiscard]] std::string_view key_of(RssPart part);   ///< "live_heap", ...
[[nodiscard]] std::string_view text_of(RssPart part);  ///< "live heap", ...

}  // namespace geiger::report
