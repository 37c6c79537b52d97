// The pages that a range of bytes lies on.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace geiger::base {

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
