// Frames of an interpreted program in stacks: collected, written once per code, merged with the
// native ones.
//
// Threads / Signals: as record_stack.h. Allocates: pages from the kernel, once per thread.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

/// What a walk through an interpreter needs of memory; of one thread.
struct InterpretedWalk;

/// Looks for an interpreter in modules that were met since the last time, unless the settings say
/// not to.
void find_interpreter();

/// Null where the process has no interpreter.
[[nodiscard]] InterpretedWalk* interpreted_walk(ThreadState& state);

/// A trace to be walked into, which keeps stack pointers: of the thread's.
[[nodiscard]] unwind::Trace native_part(InterpretedWalk& walk);

/// `native`, walked into native_part(), with the interpreter's frames; as it is where there are
/// none. Code that `segment` does not have yet is written to it.
[[nodiscard]] unwind::Trace with_interpreted(Segment& segment, ThreadState& state,
                                             const unwind::Trace& native);

/// Writes to `segment` the code of a stack that is carried there from the segment before.
void carry_codes(Segment& segment, const Segment& from, const std::uint64_t* words,
                 std::size_t count);

/// A word of that stack, as it is in `segment`; its code is 0 where the trace had no room for it.
[[nodiscard]] std::uint64_t carried_word(const Segment& segment, std::uint64_t word);

}  // namespace geiger::capture
