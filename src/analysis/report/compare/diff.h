// `diff`: what changed between the runs before and the runs after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/present/fields.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/report/advice/advice.h"

namespace geiger::report {

enum class DiffSort : std::uint8_t { kChange, kBefore, kAfter, kName };

struct DiffOptions {
  std::vector<std::string> before, after;  ///< The runs as the user named them.
  DiffSort sort = DiffSort::kChange;
  std::size_t top = 30;     ///< Rows to show; 0: all.
  bool shows_all = false;   ///< Also rows whose difference may be chance.
  present::Scope scope;     ///< What part of every run is compared, as typed.
  std::string run = "run";  ///< What the runs of a side are: hosts of a fleet.
  std::string per = "run";  ///< What values are per, if there are several.
  /// Relative standard deviation of the load of hosts, where values are not per load.
  std::optional<double> load_deviation = {};
  std::vector<FollowedAdvice> advice = {};  ///< Of two whole runs.
};

/// What one kind of bytes came to on both sides.
struct KindTotal {
  profile::Kind kind = profile::Kind::kAllocated;
  compare::Row total;
  std::optional<compare::ExactTotals> exact;

  [[nodiscard]] compare::Verdict verdict() const { return exact ? exact->verdict : total.verdict; }
};

struct DiffReport {
  DiffOptions options;
  compare::Comparison comparison;
  std::vector<KindTotal> kinds = {};  ///< Of all kinds that were compared, if several.
  std::vector<std::size_t> lines;     ///< Rows of the comparison to show.
  std::uint64_t changes = 0, noise = 0, too_few = 0;  ///< Rows by verdict, before `top`.
};

[[nodiscard]] DiffReport diff_report(compare::Comparison comparison, const DiffOptions& options);

/// Of comparisons of several kinds of bytes, at least one, those of the kind whose total changed by
/// the largest share of what the larger side has; where no total changed, of the last.
[[nodiscard]] DiffReport diff_of_most_changed(std::vector<compare::Comparison> comparisons,
                                              const DiffOptions& options);

[[nodiscard]] std::string to_text(const DiffReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const DiffReport& report);

/// Sentences about how far a comparison reaches, for its footer: what the intervals
/// hold with this many runs, what was dropped or cut off.
[[nodiscard]] std::vector<std::string> caveats(const DiffReport& report);

/// What the document of `diff` has.
[[nodiscard]] const present::Fields<DiffReport>& fields_of(present::Of<DiffReport> /*type*/);

[[nodiscard]] const present::Fields<KindTotal>& fields_of(present::Of<KindTotal> /*type*/);

/// A row with what its fields need of the others.
struct DiffRow {
  const compare::Row& it;
  const DiffReport& report;

  [[nodiscard]] const compare::Site& site() const {
    return report.comparison.collected.sites[it.site];
  }
};
[[nodiscard]] std::vector<DiffRow> rows_of(const DiffReport& report);
[[nodiscard]] const present::Fields<DiffRow>& fields_of(present::Of<DiffRow> /*type*/);

/// A side, with its runs as the user named them.
struct SideOf {
  const compare::SideFacts& it;
  const std::vector<std::string>& runs;
};
[[nodiscard]] const present::Fields<SideOf>& fields_of(present::Of<SideOf> /*type*/);

}  // namespace geiger::report
