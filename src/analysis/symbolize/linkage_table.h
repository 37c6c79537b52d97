// Functions that a module calls through its procedure linkage table and defines itself, as
// shared libraries do with what others could replace.
#pragma once

#include <libelf.h>

#include <unordered_map>

#include "analysis/symbolize/x86_code.h"
#include "base/units.h"

namespace geiger::symbolize {

/// x86-64 only.
class LinkageTable {
 public:
  explicit LinkageTable(Elf* elf);

  /// The function that the stub at `address` jumps to, or `address` if that is no stub, or one
  /// of a function in another module.
  [[nodiscard]] Address function_behind(Address address, const CodeAt& code_at) const;

 private:
  std::unordered_map<Address, Address> functions_;  ///< By the slot that a stub reads.
};

}  // namespace geiger::symbolize
