// Converts the runs of a site into the input of the estimators.
#pragma once

#include "analysis/compare/collector.h"
#include "estimation/difference.h"
#include "estimation/dispersion.h"

namespace geiger::compare {

/// The sum of all runs of a side.
[[nodiscard]] estimation::Side as_side(const SiteSide& side, const SideFacts& facts);

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
