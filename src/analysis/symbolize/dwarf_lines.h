// Source positions within one unit.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>

#include "base/units.h"

namespace geiger::symbolize {

struct SourceLine {
  std::string file;        ///< Absolute where DWARF says so; empty = unknown.
  std::uint32_t line = 0;  ///< 0 = unknown.
};

class UnitLines {
 public:
  /// `unit` has the line table; `scopes` is the DIE that scopes are found under
  /// (the same, except for split units).
  UnitLines(Dwarf_Die unit, Dwarf_Die scopes);

  /// The position of the instruction at `address`.
  [[nodiscard]] SourceLine at(Address address) const;

  /// Where an inlined function is called.
  [[nodiscard]] SourceLine call_of(Dwarf_Die* inlined) const;

  /// Rows in the table, which libdw keeps in memory.
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  [[nodiscard]] std::string absolute(const char* file) const;

  Dwarf_Lines* lines_ = nullptr;
  std::size_t rows_ = 0;
  Dwarf_Files* files_ = nullptr;
  std::size_t file_count_ = 0;
  std::string directory_;
};

}  // namespace geiger::symbolize
