// Infers the types of `new Foo` in one unit of DWARF (new_types.h).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbolize/dwarf/classes.h"
#include "analysis/symbolize/dwarf/scopes.h"
#include "analysis/symbolize/types/fresh_pointer.h"
#include "base/units.h"

namespace geiger::symbolize {

/// The calls of operator new with one return address: their form and requested sizes.
struct NewSite {
  bool is_array = false;     ///< operator new[]
  std::vector<Bytes> sizes;  ///< All that were seen, each once.
};

class UnitTypes {
 public:
  /// `lines` has the line table of the unit, `root` its scopes; `bias`: from ELF vaddrs to its
  /// addresses.
  UnitTypes(Dwarf_Die lines, Dwarf_Die root, Dwarf_Addr bias)
      : lines_(lines), root_(root), bias_(bias) {}

  /// `scope`: the innermost around the call; `constructed_by_call`: for each call of the trail the
  /// class whose constructor it calls, if any.
  [[nodiscard]] std::optional<std::string> type_at(
      Address call_of_new, Dwarf_Die scope, const NewSite& site, const PointerTrail& trail,
      const std::vector<std::optional<ClassType>>& constructed_by_call);

 private:
  /// An inlined call in the function that calls operator new.
  struct Inlined {
    Dwarf_Die die{};
    std::uint32_t parent = kNoScope;  ///< The inlined call around it.
    std::optional<ClassType> constructed;
    bool is_matched = false;  ///< Its `this` is the new object.
  };

  /// A place of the source; no column = unknown.
  struct Position {
    int line = 0;
    int column = 0;

    [[nodiscard]] bool is_known() const { return line > 0 && column > 0; }
  };

  void collect(Dwarf_Die* parent, std::uint32_t around, int depth);
  void match(Inlined& one, const NewSite& site, const PointerTrail& trail) const;
  [[nodiscard]] std::optional<std::int64_t> offset_at(Dwarf_Attribute* location,
                                                      const PointerPlace& place,
                                                      Dwarf_Die* scope) const;
  [[nodiscard]] std::uint32_t innermost(Address address);
  void propose(const ClassType& type, std::uint32_t around, const Position& position);
  [[nodiscard]] bool is_of_new(const Position& position) const;
  [[nodiscard]] static Position position_of_call(Dwarf_Die* inlined);
  [[nodiscard]] Position position_at(Address address);
  [[nodiscard]] bool is_wrapped(const NewSite& site);

  Dwarf_Die lines_;
  Dwarf_Die root_;
  Dwarf_Addr bias_;
  std::optional<int> columns_to_constructor_;
  Position position_of_new_;
  std::vector<Inlined> inlined_;  ///< Those around others come first.
  std::vector<std::string> candidates_;
  bool is_unclear_ = false;
  std::optional<Aggregates> aggregates_;
};

}  // namespace geiger::symbolize
