// Converts the runs of a site into the input of the estimators.
#pragma once

#include "analysis/compare/collector.h"
#include "estimation/difference.h"
#include "estimation/runs.h"

namespace geiger::compare {

/// The sum of all runs of a side.
[[nodiscard]] estimation::Side as_side(const Seen& seen, const SideFacts& facts);

/// Two sides whose difference is that of a site.
struct Sides {
  estimation::Side before, after;
};

/// The sides that after - factor * before is the difference of, without samples that both have
/// where SideFacts::shares_process: of these |1 - factor| is left on one of them
/// (docs/internals/estimators.md, Two recordings of one process). Requires factor >= 0.
[[nodiscard]] Sides sides_of(const SiteSide& before, const SiteSide& after,
                             const Collected& collected, double factor = 1);

/// Whether samples that both sides have cancel out in sides_of().
[[nodiscard]] bool is_paired(const SiteSide& before, const SiteSide& after,
                             const Collected& collected);

/// Multiplies sums of bytes, with their variances and intervals.
void scale(estimation::NodeSums& sums, double factor);

/// The sums of the site run by run. A run without samples of the site takes part with what could
/// have been sampled in it.
[[nodiscard]] estimation::SiteRuns as_runs(const SiteSide& before, const SiteSide& after,
                                           const Collected& collected);

/// The counted bytes of a side as a site that was recorded with certainty.
[[nodiscard]] SiteSide counted_side(const SideFacts& facts);

/// As of runs that missed nothing.
void miss_nothing(estimation::SiteRuns& runs);

/// Whether some side has several runs, so that more than the sampling error shows.
[[nodiscard]] inline bool has_several_runs(const Collected& collected) {
  return collected.before.runs.size() > 1 || collected.after.runs.size() > 1;
}

}  // namespace geiger::compare
