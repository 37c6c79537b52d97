// How much of a fleet a report rests on, in hours of hosts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/text.h"
#include "base/units.h"
#include "estimation/runs.h"

namespace geiger::present {

// Hours, the unit in which reports of fleets add up the time of hosts.

inline constexpr double kHourSeconds = 3600;

[[nodiscard]] constexpr double hours_of(std::uint64_t milliseconds) {
  return static_cast<double>(milliseconds) / (kHourSeconds * 1e3);
}

[[nodiscard]] constexpr Nanoseconds nanoseconds_of_hours(double hours) {
  return static_cast<Nanoseconds>(hours * kHourSeconds * 1e9);
}

// How much of a fleet a report rests on.

/// Of what ran, how much was recorded. Times are those of hosts, added up.
struct Coverage {
  std::string of;  ///< "shop 1.1"
  std::uint64_t hosts = 0, recorded_hosts = 0;
  std::uint64_t expected_ms = 0;  ///< Recorded, missing, and lost in gaps.
  std::uint64_t recorded_ms = 0;
  std::uint64_t gaps = 0, gap_ms = 0;
  std::uint64_t killed = 0;                    ///< Processes that ended without exit().
  std::uint64_t out_of_memory = 0;             ///< Of these, while their hosts ran out of memory.
  std::array<std::uint64_t, 24> ms_of_hour{};  ///< Recorded, by hour of the day (UTC); may be 0.
  /// An estimate for all of them, where something is missing and it can be made.
  std::optional<estimation::FleetTotal> all;

  [[nodiscard]] bool is_whole() const { return recorded_ms >= expected_ms; }
};

/// A line for each part, ended by a newline. Several lines are distinguished by `of`; one more says
/// so if two were recorded at different hours of the day.
[[nodiscard]] std::string text_of(const std::vector<Coverage>& parts, const Style& style);

[[nodiscard]] const Fields<Coverage>& fields_of(Of<Coverage> /*type*/);

}  // namespace geiger::present
