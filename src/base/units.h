// Units shared by every room. Plain integers where the runtime needs them raw;
// the names say the unit so that signatures read without comments.
#pragma once

#include <cstdint>

namespace geiger {

/// A count of bytes. Never negative; differences are `std::int64_t`.
using Bytes = std::uint64_t;

/// A run-time address inside the target process.
using Address = std::uint64_t;

/// Nanoseconds of CLOCK_MONOTONIC unless the name says `realtime`.
using Nanoseconds = std::uint64_t;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

}  // namespace geiger
