// CPython's small objects: its domains OBJ and MEM serve them from pools, so malloc sees arenas
// only. Our functions go before those of both domains and count each block by the countdown that
// malloc uses, so there is one stream of trials.
//
//   malloc   pymalloc serves 1 to 512 bytes itself: count, go on; larger ones reach malloc, which
//            counts them
//   free     as free() does
//   realloc, and every allocator but pymalloc: count afterwards, and only where nobody below did
//
// They are put in place through the interpreter's own PyMem_SetAllocator, together with the context
// of the functions they go before: whoever reads a function and a context while that happens gets a
// pair that works. So this can be done at any time, and undone.
//
// Threads: as the allocator. Signals: only where the thread holds the interpreter's lock or before
// it runs.
#pragma once

#include "base/attributes.h"
#include "runtime/capture/capture.h"
#include "runtime/python/interpreter.h"

namespace geiger::interpose {

/// Goes before the allocators of the interpreter, and again if it has put its own back.
void look_after_domains(const capture::Decision& decision);

/// Gives the interpreter its own functions back, where ours are in place.
void leave_domains();

/// Behind a slow path that has recorded what it decided.
GEIGER_FAST_PATH void look_after_python(const capture::Decision& decision) {
  if (python::interpreter() != nullptr) [[unlikely]]
    look_after_domains(decision);
}

}  // namespace geiger::interpose
