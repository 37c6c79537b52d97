// The variables of a module, by its symbol table: what a pointer found in its data is called.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

struct DataSymbol {
  Address start = 0;  ///< ELF vaddr; of a thread-local variable its offset in the module's block.
  Bytes bytes = 0;
  std::string name;  ///< Demangled.
};

/// In order of addresses; of several at one place the longest.
struct DataSymbols {
  std::vector<DataSymbol> globals;
  std::vector<DataSymbol> thread_locals;
};

/// Of the file at `path`, and of a debug file with its build id. Empty if the file is missing, or
/// cannot be read. Forks: the file is read by a confined process (worker.h).
[[nodiscard]] DataSymbols data_symbols(const std::string& path);

/// The members of its variables that DWARF tells, by what follows the variable's name (members.h).
/// Likewise.
[[nodiscard]] DataSymbols data_members(const std::string& path);

/// The variable at `address`, or null.
[[nodiscard]] const DataSymbol* find_symbol(const std::vector<DataSymbol>& symbols,
                                            Address address);

}  // namespace geiger::symbolize
