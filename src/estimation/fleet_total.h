// The bytes of a whole fleet of which some hosts, or some of their hours, were recorded.
#pragma once

#include <optional>
#include <span>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// An estimate for all of the exposure from a part of it.
struct FleetTotal {
  /// Of all. `exact` are the certain bytes of what was recorded: no error, and no more than a part.
  Estimate bytes;
  double recorded = 1;  ///< Share of the exposure that was recorded, in (0, 1].
  double degrees = 0;   ///< Of freedom of the variance; infinite where all was recorded.
  bool is_of_few =
      false;  ///< Fewer than kFewHosts: where hosts vary much, intervals miss too often.
};

/// From so many hosts on a 95 % interval covers at least .9 even if hosts vary by 100 %
/// (docs/estimators.md).
inline constexpr std::size_t kFewHosts = 30;

/// Estimates the bytes that `exposure` in all had, of which `hosts` are a part drawn without regard
/// to their bytes, at a confidence level. `exposures`, one per host or empty for 1 each, in the
/// same unit, such as hours; hosts with more of it count for more. Where they are more than
/// `exposure` in all, all was recorded. Hosts are all that was not recorded too: it is taken to be
/// like the rest. Nothing for fewer than two hosts, unless they are all: one does not show how
/// hosts vary.
[[nodiscard]] std::optional<FleetTotal> fleet_total(std::span<const NodeSums> hosts,
                                                    std::span<const double> exposures,
                                                    double exposure, double level);

}  // namespace geiger::estimation
