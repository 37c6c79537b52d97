// How the caller of a function is found from it: what .eh_frame and .debug_frame (CFI) say of an
// address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

/// Registers by DWARF's numbers: those of x86-64 and AArch64 that callers are found by.
inline constexpr std::size_t kDwarfRegisters = 33;

/// Where the caller's value of a register is.
struct RegisterRule {
  enum Kind : std::int32_t {
    kUnknown,    ///< By an expression.
    kUndefined,  ///< Lost; of the return address: nothing has called it.
    kSame,       ///< Still in the register.
    kSaved,      ///< In memory, at the base + `value`.
    kComputed,   ///< It is the base + `value`.
    kMoved,      ///< In the register `value`.
  };
  std::int32_t kind = kUnknown;
  std::int32_t value = 0;
};

/// Of an instruction. Its frame ends at the base (CFA): a register + an offset.
struct CallerRules {
  std::int32_t is_of_signal = 0;  ///< The caller was interrupted, and called nothing.
  std::int32_t return_register = 0;
  std::int32_t base_register = 0, base_offset = 0;
  std::array<RegisterRule, kDwarfRegisters> registers;
};

/// Of those of `addresses` (ELF vaddrs, ascending, distinct) of which the file at `path` or its
/// debug file has rules in this form. Forks: the file is read by a confined process (worker.h).
[[nodiscard]] std::map<Address, CallerRules> caller_rules(const std::string& path,
                                                          std::vector<Address> addresses);

/// A function that is not inlined, and the line in it.
struct FunctionPlace {
  std::string function;  ///< Demangled.
  std::string file;
  std::uint32_t line = 0;  ///< 0: not known.
};

/// Of those of `addresses` (of returns; ELF vaddrs, ascending, distinct) of which there are names.
/// Forks likewise.
[[nodiscard]] std::map<Address, FunctionPlace> function_places(const std::string& path,
                                                               std::vector<Address> addresses);

}  // namespace geiger::symbolize
