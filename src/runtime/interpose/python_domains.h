// CPython's small objects: its domains OBJ and MEM serve them from pools, so malloc sees only
// arenas. We install functions in front of both domains that count each block with malloc's
// countdown, so there is one stream of trials.
//
//   malloc   pymalloc serves 1 to 512 bytes itself: counted here; larger ones reach malloc, which
//            counts them
//   free     as free() does
//   realloc, and every allocator except pymalloc: count afterwards, unless malloc did
//
// The interpreter's PyMem_SetAllocator installs them, with the context of the original functions: a
// thread that reads a function and a context meanwhile gets a pair that works. So this can be done
// and undone at any time.
//
// Threads: as the allocator. Signals: only if the thread holds the interpreter's lock, or before
// the interpreter runs.
#pragma once

#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/python/interpreter.h"

namespace geiger::interpose {

/// Installs our functions, again if the interpreter has restored its own.
void look_after_domains(const capture::Decision& decision);

/// Restores the interpreter's own functions where ours are installed.
void leave_domains();

/// Call after a slow path that has recorded its decision.
GEIGER_FAST_PATH void look_after_python(const capture::Decision& decision) {
  if (python::interpreter() != nullptr) [[unlikely]]
    look_after_domains(decision);
}

}  // namespace geiger::interpose
