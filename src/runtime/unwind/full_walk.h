// The walk with all registers that survive calls: slower by an order of magnitude, and only needed
// if a frame's CFA depends on another register (such as the loader's lazy-binding trampoline, if a
// resolver or symbol lookup below it allocates).
#pragma once

#include "runtime/unwind/unwind.h"

namespace geiger::unwind {

/// Like walk(). Finds the callee-saved registers at `start` by walking up to it from here; if it
/// does not reach `start`, they are unknown.
void walk_with_all_registers(const Registers& start, const StackBounds& bounds, Trace& out);

}  // namespace geiger::unwind
