// The walk with all registers that survive calls: slower by an order of
// magnitude, and only needed where a frame's CFA hangs on another register (the
// lazy-binding trampoline of the loader is such a frame: a resolver or a symbol
// lookup below it that allocates is enough).
#pragma once

#include "runtime/unwind/unwind.h"

namespace geiger::unwind {

/// As walk(). The callee-saved registers at `start` are found by walking up to
/// it from here; if `start` is not met on the way they count as unknown.
void walk_with_all_registers(const Registers& start, const StackBounds& bounds, Trace& out);

}  // namespace geiger::unwind
