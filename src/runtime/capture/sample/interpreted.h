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

/// Memory for one thread's walks through an interpreter.
struct InterpretedWalk;

/// Looks for an interpreter in modules found since the last call, unless the settings forbid it.
void find_interpreter();

/// Null if the process has no interpreter.
[[nodiscard]] InterpretedWalk* interpreted_walk(ThreadState& state);

/// An empty trace in the thread's memory, with room for stack pointers.
[[nodiscard]] unwind::Trace native_part(InterpretedWalk& walk);

/// `native`, walked into native_part(), with the interpreter's frames merged in; unchanged if there
/// are none. Writes code to `segment` that it does not contain yet.
[[nodiscard]] unwind::Trace with_interpreted(Segment& segment, ThreadState& state,
                                             const unwind::Trace& native);

/// Writes to `segment` the code of a stack that is carried there from the segment before.
void carry_codes(Segment& segment, const Segment& from, const std::uint64_t* words,
                 std::size_t count);

/// A word of that stack, translated to `segment`; its code is 0 if the trace had no room for it.
[[nodiscard]] std::uint64_t carried_word(const Segment& segment, std::uint64_t word);

}  // namespace geiger::capture
