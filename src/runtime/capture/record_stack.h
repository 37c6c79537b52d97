// Walks the caller's stack and names its record in the trace, writing the record
// and those of modules it needs the first time.
//
// Threads / Signals: lock-free; a signal handler that samples during its thread's
// walk gets a short stack, flagged truncated. Allocates: never through malloc.
#pragma once

#include "runtime/capture/thread_state.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

/// Reference of the stack's record; 0 if it could not be recorded.
trace::Ref record_stack(ThreadState& state, const unwind::Registers& caller);

}  // namespace geiger::capture
