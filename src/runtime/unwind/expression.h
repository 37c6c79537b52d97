// DWARF expressions of unwind tables, evaluated without registers.
//
// Every expression that compilers, assemblers and linkers put into .eh_frame is
// base + offset or [base + offset] + added once the pc is known (the one of PLT
// entries computes with rip). So expressions become terms when a row is made and
// no interpreter runs during a walk; anything else has no term.
#pragma once

#include <cstdint>

#include "runtime/unwind/row.h"

namespace geiger::unwind {

/// False: malformed, or no term. `rip` is the value of the rip column.
[[nodiscard]] bool evaluate(const Cursor& code, std::uint64_t rip, Term& result);

}  // namespace geiger::unwind
