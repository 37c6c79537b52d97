// The load of each of several hosts: what the bytes of all sites there have in common.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "estimation/runs.h"

namespace geiger::estimation {

/// Factors whose mean is 1, one for each run of a side. Positive and finite: they can serve as the
/// exposures of SiteRuns.
struct Loads {
  std::vector<double> before, after;
  /// Relative standard deviation from run to run, without the error of the factors.
  double deviation = 0;
};

/// Fewer sites that can be compared do not show what they have in common.
inline constexpr std::size_t kFewestSitesOfLoad = 5;

/// The load of a run is the median, over sites, of its bytes per unit of exposure, relative to
/// their mean over all runs (Anders and Huber 2010); a site weighs as much as its ratio is precise.
/// Sites that changed do not move it much while they have less than half of the weight: unlike the
/// total of a run, of which one large site can be most. Nothing if fewer than kFewestSitesOfLoad
/// sites have enough samples, or there are fewer than two runs. All sites have the same runs.
[[nodiscard]] std::optional<Loads> loads_of(std::span<const SiteRuns> sites);

}  // namespace geiger::estimation
