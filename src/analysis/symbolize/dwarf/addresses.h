// What DWARF says of an address: its unit, the functions that are there, and its line.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

// Which compilation units hold which addresses.

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

// Which functions are at an address: the one that the linker placed there and
// those inlined into it.

/// A subprogram or an inlined call that covers a requested address.
struct Scope {
  Dwarf_Die die{};
  std::uint32_t parent = 0;  ///< Enclosing scope, kNoScope for subprograms.
};
inline constexpr std::uint32_t kNoScope = 0xffffffff;

/// The scopes of one unit.
///
/// libdw's own look-up (dwarf_getscopes) walks the unit once per address; this
/// walks it once for all addresses, and leaves out functions without any.
class UnitScopes {
 public:
  /// `unit` is the unit's DIE (of a split unit: the split one); `addresses` ascend.
  UnitScopes(Dwarf_Die unit, std::span<const Address> addresses);

  /// The innermost scope at addresses[index], or kNoScope.
  [[nodiscard]] std::uint32_t innermost(std::size_t index) const { return innermost_[index]; }
  [[nodiscard]] Scope& scope(std::uint32_t index) { return scopes_[index]; }

 private:
  /// kLikely leaves out what hardly ever holds functions with code: types, and
  /// functions without a requested address.
  enum class Effort : std::uint8_t { kLikely, kAll };

  void walk_children(Dwarf_Die* die, std::uint32_t parent, int depth);
  void visit(Dwarf_Die* die, std::uint32_t parent, int depth);
  void visit_subprogram(Dwarf_Die* die, int depth);
  void visit_inlined(Dwarf_Die* die, std::uint32_t parent, int depth);
  /// Makes the function the innermost scope of the addresses in its ranges for which `is_within`
  /// holds, and walks its children.
  template <typename IsWithin>
  void visit_function(Dwarf_Die* die, std::uint32_t parent, int depth, const IsWithin& is_within);

  std::span<const Address> addresses_;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> innermost_;
  std::vector<Address> subprogram_bytes_;  ///< Of the subprogram at each address.
  Effort effort_ = Effort::kLikely;
  std::size_t visited_ = 0;
};

// Source positions within one unit.

struct SourceLine {
  std::string_view file;   ///< Absolute where DWARF has an absolute path; empty = unknown.
  std::uint32_t line = 0;  ///< 0 = unknown.
};

/// Files that it returns live as long as it does.
class UnitLines {
 public:
  /// `unit` has the line table; `scopes` is the DIE that scopes are found under
  /// (the same, except for split units).
  UnitLines(Dwarf_Die unit, Dwarf_Die scopes);

  /// The position of the instruction at `address`.
  [[nodiscard]] SourceLine at(Address address);

  /// Where an inlined function is called.
  [[nodiscard]] SourceLine call_of(Dwarf_Die* inlined);

  /// Rows in the table, which libdw keeps in memory.
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  [[nodiscard]] std::string_view absolute(const char* file);

  Dwarf_Lines* lines_ = nullptr;
  std::size_t rows_ = 0;
  Dwarf_Files* files_ = nullptr;
  std::size_t file_count_ = 0;
  std::string directory_;
  std::unordered_map<const char*, std::string> absolute_;  ///< By libdw's name, which stays put.
};

}  // namespace geiger::symbolize
