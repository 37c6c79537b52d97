// DWARF expressions of unwind tables, evaluated without registers.
//
// Every expression that compilers, assemblers and linkers write into .eh_frame is base + offset or
// [base + offset] + added once the pc is known (the expression of PLT entries depends on the pc).
// So expressions become terms when a row is made, and no interpreter runs during a walk; other
// expressions have no term.
#pragma once

#include <cstdint>

#include "runtime/unwind/row.h"

namespace geiger::unwind {

/// False: malformed, or no term. `pc` is the value of the return address's column, if calls push
/// it.
[[nodiscard]] bool evaluate(const Cursor& code, std::uint64_t pc, Term& result);

}  // namespace geiger::unwind
