// `live`: which rows grow while the view is open.
//
// The growth of a row from one instant to another is what came in between and lives, less what
// lived then and went. Objects that live at both are in neither, so the interval is only of
// what changed: a large heap that stays adds nothing to it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "estimation/estimate.h"

namespace geiger::report {

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

  profile::GroupBy by_ = profile::GroupBy::kFunction;
  double level_ = 0.95;
  bool has_unseen_objects_ = false;  ///< From before the recording: they are freed unseen.
  Changes start_, recent_;
  LiveGrowth total_;
  std::vector<GrowthRow> rows_;
  std::size_t growing_ = 0;
};

/// "SessionStore::open (leaky.cc:25) grows 1.20 MiB/s ± 0.2 over 10 s", or that no growth is
/// shown, or known. The name gives way to the numbers where `columns` are too few; 0: no limit.
[[nodiscard]] std::string sentence(const GrowthReport& growth, std::size_t columns = 0);

}  // namespace geiger::report
