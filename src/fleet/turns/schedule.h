// When a host records programs that sleep otherwise. Hosts agree without talking to each other:
// whether one records in a period, and when, is a hash of its name and the period.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/outcome.h"

namespace geiger::fleet {

struct Schedule {
  std::int64_t length = 0, period = 0;  ///< Seconds; 0 < length <= period.
  double share = 1;                     ///< Of the hosts that record in a period.
  std::string salt;                     ///< Schedules with different ones choose independently.
};

/// A stretch of Unix seconds in which a host records: [begin, end).
struct Turn {
  std::int64_t begin = 0, end = 0;
};

/// Reads the length and period of "2m/1h".
[[nodiscard]] base::Outcome<Schedule> parse_schedule(std::string_view text);
/// Reads a share such as "5%": more than 0 % and at most 100 %.
[[nodiscard]] base::Outcome<double> parse_host_share(std::string_view text);

/// The turn of the host in the period that `second` belongs to, if it has one. It lies within the
/// period; each second of a period is as likely as any other to be recorded, but for its ends.
[[nodiscard]] std::optional<Turn> turn_in_period(const Schedule& schedule, std::string_view host,
                                                 std::int64_t second);

}  // namespace geiger::fleet
