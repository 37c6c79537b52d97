// The runs of a site one by one, as the estimators take them.
#pragma once

#include "analysis/compare/collector.h"
#include "estimation/difference.h"
#include "estimation/dispersion.h"

namespace geiger::compare {

/// All runs of a side added.
[[nodiscard]] estimation::Side as_side(const SiteSide& side, const SideFacts& facts);

/// Run by run: what each run saw of the site, and for those that saw nothing that
/// they could have.
[[nodiscard]] estimation::SiteRuns as_runs(const SiteSide& before, const SiteSide& after,
                                           const Collected& collected);

/// Whether some side has several runs, so that more than the sampling error shows.
[[nodiscard]] inline bool has_several_runs(const Collected& collected) {
  return collected.before.runs.size() > 1 || collected.after.runs.size() > 1;
}

}  // namespace geiger::compare
