// Hours, the unit in which reports of fleets add up the time of hosts.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::present {

inline constexpr double kHourSeconds = 3600;

[[nodiscard]] constexpr double hours_of(std::uint64_t milliseconds) {
  return static_cast<double>(milliseconds) / (kHourSeconds * 1e3);
}

[[nodiscard]] constexpr Nanoseconds nanoseconds_of_hours(double hours) {
  return static_cast<Nanoseconds>(hours * kHourSeconds * 1e9);
}

}  // namespace geiger::present
