// Functions that a module defines and yet calls through its procedure linkage table, as shared
// libraries do where another module may replace them.
#pragma once

#include <libelf.h>

#include <unordered_map>

#include "analysis/symbolize/types/x86_code.h"
#include "base/units.h"

namespace geiger::symbolize {

/// x86-64 only.
class LinkageTable {
 public:
  explicit LinkageTable(Elf* elf);

  /// The function that the table's entry at `address` jumps to; `address` itself if no entry is
  /// there, or the function is in another module.
  [[nodiscard]] Address function_behind(Address address, const CodeAt& code_at) const;

 private:
  std::unordered_map<Address, Address>
      functions_;  ///< By the address of the pointer that an entry reads.
};

}  // namespace geiger::symbolize
