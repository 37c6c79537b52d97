// What malloc and free take, as it was timed: from numbers of allocations to processor time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "estimation/estimate.h"

namespace geiger::advice {

/// Seconds of processor time that a pair of malloc and free takes.
struct PairTime {
  Bytes bytes = 0;
  double usual = 0;               ///< The median of several rounds.
  estimation::Interval interval;  ///< The fastest and the slowest of them.
};

struct PairTimes {
  std::string allocator = {};        ///< Of which they are; empty: not timed.
  std::vector<PairTime> times = {};  ///< By bytes, ascending.
  std::string fault = {};            ///< Why it was not timed.

  [[nodiscard]] bool is_known() const { return !times.empty(); }
  /// Seconds for `calls` of these sizes: number by bytes. Its limits are those of the calls, at the
  /// fastest and the slowest time. Requires that times are known.
  [[nodiscard]] estimation::Estimate seconds(const estimation::Estimate& calls,
                                             const std::map<Bytes, double>& by_size) const;
};

}  // namespace geiger::advice
