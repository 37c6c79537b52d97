// Hours, the unit in which reports of fleets add up the time of hosts.
#pragma once

#include <cstdint>

namespace geiger::present {

[[nodiscard]] constexpr double hours_of(std::uint64_t milliseconds) {
  return static_cast<double>(milliseconds) / 3.6e6;
}

}  // namespace geiger::present
