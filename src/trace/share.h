// Constants of the self-regulating interval and of the exit that the runtime and `geiger run`
// share.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::trace {

/// Shares of processor time are counted in millionths.
inline constexpr std::uint64_t kPerMillion = 1'000'000;

/// The first interval, and the default share.
inline constexpr Bytes kFirstInterval = 16 * kKiB;
/// The largest interval, given or regulated: keeps skip counts far from 2^63.
inline constexpr Bytes kMostInterval = Bytes{1} << 40;
inline constexpr std::uint64_t kUsualShare = 10'000;

/// How long a process waits in its exit for a scan of its memory.
inline constexpr Nanoseconds kLongestExit = 10'000'000'000;

}  // namespace geiger::trace
