// The symbol tables of a module (.symtab or .dynsym, and MiniDebugInfo), sorted
// once for many look-ups.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/symbolize/elf/debug_file.h"
#include "base/units.h"

namespace geiger::symbolize {

struct ElfSymbol {
  Address start = 0;       ///< ELF vaddr.
  Address end = 0;         ///< Symbols without a size end where the next one starts.
  std::string_view name;   ///< As in the table, without a symbol version.
  std::uint32_t rank = 0;  ///< Of several names for one start the lowest is shown.
};

class ElfSymbols {
 public:
  ElfSymbols() = default;
  /// Names point into `file`, which must outlive this object.
  explicit ElfSymbols(const DebugFile& file);

  /// The innermost symbol that covers `address`, or nullptr.
  [[nodiscard]] const ElfSymbol* find(Address address) const;

 private:
  void add_symbols(const DebugFile& file);
  void close_open_ends();

  std::vector<ElfSymbol> symbols_;  ///< By start, then falling rank.
  std::vector<Address> furthest_;   ///< The largest end up to each symbol.
};

}  // namespace geiger::symbolize
