// Source positions within one unit.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/units.h"

namespace geiger::symbolize {

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
