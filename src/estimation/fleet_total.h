// The bytes of a whole fleet, of which only some hosts or hours were recorded.
#pragma once

#include <optional>
#include <span>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// An estimate for the whole exposure from a part of it.
struct FleetTotal {
  /// Of the whole. `exact`: the certain bytes of the recorded part, without error.
  Estimate bytes;
  double recorded = 1;     ///< Share of the exposure that was recorded, in (0, 1].
  double degrees = 0;      ///< Of freedom of the variance; infinite if all was recorded.
  bool is_of_few = false;  ///< Fewer than kFewHosts: if hosts vary much, intervals miss too often.
};

/// From this many hosts on a 95 % interval covers at least .9 even if hosts vary by 100 %
/// (docs/internals/estimators.md).
inline constexpr std::size_t kFewHosts = 30;

/// Estimates the bytes of a total `exposure`, of which `hosts` are a part selected independently of
/// their bytes, at a confidence level. `exposures`: one per host or empty for 1 each, in the same
/// unit, such as hours; hosts with more exposure count more. If their sum exceeds `exposure`,
/// everything was recorded. The unrecorded part is assumed to be like the recorded one. No result
/// for fewer than two hosts, unless they are all: a single host does not show how hosts vary.
[[nodiscard]] std::optional<FleetTotal> fleet_total(std::span<const NodeSums> hosts,
                                                    std::span<const double> exposures,
                                                    double exposure, double level);

}  // namespace geiger::estimation
