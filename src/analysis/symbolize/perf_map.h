// Names of code that a JIT compiled: /tmp/perf-PID.map, one line per function,
// `START SIZE NAME` with hexadecimal numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

/// Larger maps are not read.
inline constexpr std::size_t kMaxPerfMapBytes = std::size_t{512} << 20;

/// The map of process `pid` in `directory`, or nothing: only a regular file of
/// ours or root's counts, not older than `not_before` (ns since the epoch; 0 =
/// any age), so that the map of an earlier process with this id is not taken.
[[nodiscard]] std::optional<std::string> read_perf_map(const std::string& directory,
                                                       std::uint32_t pid, Nanoseconds not_before);

/// For each return address of `addresses` (ascending) the function of `map` that
/// holds the call; empty = none. Lines that cannot be read are passed over; of
/// several that cover an address the last one wins, as code is replaced.
[[nodiscard]] std::vector<std::string_view> look_up_perf_map(std::string_view map,
                                                             std::span<const Address> addresses);

}  // namespace geiger::symbolize
