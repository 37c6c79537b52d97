// Which functions are at an address: the one that the linker placed there and
// those inlined into it.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

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

}  // namespace geiger::symbolize
