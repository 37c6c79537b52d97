// Walks the caller's stack and returns the reference of its record in the trace. The first time,
// writes the record and those of the modules it needs.
//
// Threads / Signals: lock-free; a sample in a signal handler that interrupted its thread's walk has
// a short stack, flagged truncated. Allocates: never through malloc.
#pragma once

#include <cstdint>

#include "runtime/capture/image/segment.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

// Frames of an interpreted program in stacks: collected, written once per code, merged with the
// native ones.
//
// Threads / Signals: lock-free; a sample in a signal handler that interrupted its thread's walk
// has a short stack, flagged truncated. Allocates: pages from the kernel, once per thread.

/// Memory for one thread's walks through an interpreter.
struct InterpretedWalk;

/// Looks for an interpreter in modules found since the last call, unless the settings forbid it.
void find_interpreter();

/// Records that the interpreter, if there is one, has begun to finalize. Call before the free of a
/// sample is recorded; record_stack() does so for samples.
void look_at_finalization(Segment& segment);

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

/// Reference of the stack's record in this segment; 0 if it could not be recorded.
trace::Ref record_stack(Segment& segment, ThreadState& state, const unwind::Registers& caller);

/// The program's frame that called the runtime and the allocator. `inside` is a point in either;
/// the ranges are their code.
[[nodiscard]] unwind::Registers caller_of(const ThreadState& state, const unwind::Registers& inside,
                                          const unwind::AddressRange& runtime,
                                          const unwind::AddressRange& allocator);

/// Records the stack without the frames of an interpreter: for calls that may just have unmapped
/// them.
trace::Ref record_native_stack(Segment& segment, ThreadState& state,
                               const unwind::Registers& caller);

/// A record of frames that were walked before; 0: no room.
trace::Ref record_frames(Segment& segment, const std::uint64_t* frames, std::uint64_t count);

/// Call before a sample is recorded. Prefetches the data that walking the thread's last stack
/// needed, because the next stack shares most of it.
void expect_stack(const ThreadState& state);

/// Reference, in this segment, of the stack in `record`, whose reference in the previous segment,
/// `from`, is `before`; 0 if it could not be recorded.
trace::Ref carry_stack(Segment& segment, const Segment& from, trace::Ref before,
                       const trace::StackRecord& record);

}  // namespace geiger::capture
