// Units shared by every room, and the pages of a range of bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace geiger {

// Units shared by every room. Plain integers where the runtime needs them raw;
// the names say the unit so that signatures read without comments.

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

namespace geiger::base {

// The pages that a range of bytes lies on.

/// Calls visit(page, bytes) for the pages of [address, address + bytes) in rising order: the
/// page's number, and how many bytes of the range are on it. `page_bytes` is a power of 2; a
/// range that wraps around has no pages.
template <typename Visit>
constexpr void for_each_page(Address address, Bytes bytes, Bytes page_bytes, const Visit& visit) {
  const Address end = address + bytes;
  for (Address at = address; at < end;) {
    const std::uint64_t page = at / page_bytes;
    const Address next = std::min<Address>(end, (page + 1) * page_bytes);
    visit(page, next - at);
    at = next;
  }
}

}  // namespace geiger::base
