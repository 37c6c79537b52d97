// Which compilation units hold which addresses.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

/// A unit that covers at least one requested address.
struct UnitHits {
  Dwarf_Off die = 0;                     ///< Offset of the unit's DIE in .debug_info.
  std::vector<std::uint32_t> addresses;  ///< Indexes, ascending.
};

/// The units, in file order, whose ranges cover one of `addresses` (ascending,
/// in the address space of `dwarf`). Units that give no ranges of their own are
/// placed by .debug_aranges.
[[nodiscard]] std::vector<UnitHits> find_units(Dwarf* dwarf, std::span<const Address> addresses);

/// Calls `visit(low, high)` for each address range [low, high) of `die`; returns
/// how many there were.
template <typename Visit>
std::size_t for_each_range(Dwarf_Die* die, const Visit& visit) {
  // Crafted range lists can be as long as their section, for each DIE anew.
  constexpr std::size_t kMaxRanges = std::size_t{1} << 20;
  std::size_t count = 0;
  Dwarf_Addr base = 0;
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  std::ptrdiff_t at = 0;
  while (count < kMaxRanges && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
    ++count;
    if (low < high) visit(Address{low}, Address{high});
  }
  return count;
}

/// Indexes [first, second) of the sorted `addresses` that lie in [low, high).
[[nodiscard]] std::pair<std::size_t, std::size_t> covered(std::span<const Address> addresses,
                                                          Address low, Address high);

}  // namespace geiger::symbolize
