// Estimates in other units.
#pragma once

#include "base/check.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

/// Multiplies an estimate by `factor`: bytes per run, money. Requires factor > 0.
[[nodiscard]] constexpr Estimate scaled(Estimate estimate, double factor) {
  GEIGER_ASSERT(factor > 0);
  estimate.value *= factor;
  estimate.variance *= factor * factor;
  estimate.interval = {estimate.interval.lo * factor, estimate.interval.hi * factor};
  estimate.exact *= factor;
  return estimate;
}

}  // namespace geiger::estimation
