// `live`: a running program at one instant, how its memory developed, and which rows grow while the
// view is open.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "analysis/report/profiles/table.h"
#include "estimation/estimate.h"

namespace geiger::report {

// `live`: which rows grow while the view is open.
//
// The growth of a row from one instant to another is what came in between and lives, less what
// lived then and went. Objects that live at both are in neither, so the interval is only of
// what changed: a large heap that stays adds nothing to it.

/// Changes since an instant, as samples by tally of the picture.
struct LiveChange {
  Nanoseconds length = 0;   ///< Since then; above 0.
  std::uint64_t looks = 1;  ///< Since then, this one included.
  std::vector<std::uint64_t> came, went;
};

/// Live bytes now less those then.
struct LiveGrowth {
  Nanoseconds length = 0;
  double bytes = 0;
  /// From minus infinity where frees of objects from before the recording are not seen.
  estimation::Interval interval;

  /// At this update and for this row alone.
  [[nodiscard]] bool is_above_zero() const { return interval.lo > 0; }
};

/// "+1.20 MiB/s ± 0.2": per second of its length. "< 1.4 MiB/s" without a lower limit.
[[nodiscard]] present::Figure rate_figure(const LiveGrowth& growth);

/// The key that distinguishes the rows of a grouping.
struct RowKey {
  std::string name, detail;
  std::uint32_t stack = profile::kNone;  ///< Of rows that are stacks.
  std::string file = {};                 ///< Of rows that are lines, with its number.
  std::uint32_t line = 0;

  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
/// Of a profile::Row or a TableLine.
template <typename Row>
[[nodiscard]] RowKey key_of(const Row& row, profile::GroupBy by) {
  const bool is_stack = by == profile::GroupBy::kStack, is_line = by == profile::GroupBy::kLine;
  return {row.name, row.detail, is_stack ? row.stack : profile::kNone,
          is_line ? row.where.file : std::string(), is_line ? row.where.line : 0};
}

struct GrowthRow {
  RowKey key;
  profile::SourceLine where;
  LiveGrowth since_start;
  std::optional<LiveGrowth> recent;
  /// It grew, after correction for all rows and updates: over all of them since the
  /// start, a row that did not grow is called growing with a probability of at most
  /// (1 - level) / 2.
  bool is_growing = false;
};

/// A function of the program's own code that explains several stacks whose live bytes grow
/// (profile/lives/owners.h).
struct GrowingOwner {
  GrowthRow all;            ///< What is below the function.
  std::uint64_t sites = 0;  ///< Stacks below it that grew.
};

/// Growth of every row, on demand: `start` since watching began, `recent` since less long ago.
class GrowthReport {
 public:
  GrowthReport() = default;  ///< Nothing is known.
  /// `live` is the profile of the picture whose rows are shown, `keeps` what selected it.
  GrowthReport(const profile::Recording& picture, const profile::Profile& live,
               const profile::Keeps& keeps, profile::GroupBy by, double level,
               const LiveChange& start, const std::optional<LiveChange>& recent);

  [[nodiscard]] profile::GroupBy by() const { return by_; }
  [[nodiscard]] bool is_known() const { return start_.length > 0; }
  [[nodiscard]] Nanoseconds length() const { return start_.length; }
  [[nodiscard]] bool has_recent() const { return recent_.length > 0; }
  [[nodiscard]] Nanoseconds recent_length() const { return recent_.length; }

  [[nodiscard]] LiveGrowth since_start(const RowKey& key) const;
  [[nodiscard]] LiveGrowth recent(const RowKey& key) const;
  [[nodiscard]] const LiveGrowth& total() const { return total_; }
  /// Rows that seem to have grown, those that are growing first, then by bytes.
  [[nodiscard]] const std::vector<GrowthRow>& rows() const { return rows_; }
  [[nodiscard]] std::size_t growing() const { return growing_; }
  /// Of those, the one that grew most: after correction for all functions and updates, a family
  /// of its own beside that of the rows, with the same chance of a false name.
  [[nodiscard]] const std::optional<GrowingOwner>& owner() const { return owner_; }
  [[nodiscard]] bool is_any_growing() const { return growing_ > 0 || owner_; }
  /// Whether only upper limits are known.
  [[nodiscard]] bool has_unseen_objects() const { return has_unseen_objects_; }

 private:
  struct Flow {
    estimation::NodeSums came, went;
    profile::SourceLine where = {};  ///< Of what came.
  };
  struct Changes {
    Nanoseconds length = 0;
    double largest_interval = 0;
    Flow all;
    Flow unknown_type;  ///< Of rows that are types: may belong to each of the others.
    std::map<RowKey, Flow> flows;

    [[nodiscard]] Flow of(const RowKey& key) const;
  };

  static Changes changes_of(const profile::Recording& picture, const profile::Profile& live,
                            const profile::Keeps& keeps, profile::GroupBy by,
                            const LiveChange& change);
  [[nodiscard]] LiveGrowth growth_of(const Changes& changes, const Flow& flow, double level) const;
  void find_rows(std::uint64_t looks);
  using StackFlows = std::map<std::uint32_t, Flow>;
  static StackFlows flows_of_stacks(const profile::Recording& picture, const profile::Profile& live,
                                    const profile::Keeps& keeps, const LiveChange& change);
  void find_owner(const profile::Recording& picture, const StackFlows& start,
                  const StackFlows& recent, std::uint64_t looks);

  profile::GroupBy by_ = profile::GroupBy::kFunction;
  double level_ = 0.95;
  bool has_unseen_objects_ = false;  ///< From before the recording: they are freed unseen.
  Changes start_, recent_;
  LiveGrowth total_;
  std::vector<GrowthRow> rows_;
  std::size_t growing_ = 0;
  std::optional<GrowingOwner> owner_;
};

/// "SessionStore::open (leaky.cc:25) grows 1.20 MiB/s ± 0.2 over 10 s", or that no growth is
/// shown, or known. The name gives way to the numbers where `columns` are too few; 0: no limit.
[[nodiscard]] std::string sentence(const GrowthReport& growth, std::size_t columns = 0);

// `live`: a running program at one instant, and how its memory developed up to then.

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
