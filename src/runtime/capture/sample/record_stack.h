// Walks the caller's stack and names its record in the trace, writing the record
// and those of modules it needs the first time.
//
// Threads / Signals: lock-free; a signal handler that samples during its thread's
// walk gets a short stack, flagged truncated. Allocates: never through malloc.
#pragma once

#include "runtime/capture/image/segment.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

/// Reference of the stack's record in this segment; 0 if it could not be recorded.
trace::Ref record_stack(Segment& segment, ThreadState& state, const unwind::Registers& caller);

/// Where the program called the runtime and the allocator: `inside` is a point of either, whose
/// code is at these addresses.
[[nodiscard]] unwind::Registers caller_of(const ThreadState& state, const unwind::Registers& inside,
                                          const unwind::AddressRange& runtime,
                                          const unwind::AddressRange& allocator);

/// Records the stack without the frames of an interpreter: for calls that may just have unmapped
/// them.
trace::Ref record_native_stack(Segment& segment, ThreadState& state,
                               const unwind::Registers& caller);

/// A record of frames that were walked before; 0: no room.
trace::Ref record_frames(Segment& segment, const std::uint64_t* frames, std::uint64_t count);

/// A sample is about to be recorded: has the processor fetch what walking the stack of the thread's
/// last one needed, of which the next shares most.
void expect_stack(const ThreadState& state);

/// Reference, in this segment, of the stack in `record`, whose reference in the previous segment,
/// `from`, is `before`; 0 if it could not be recorded.
trace::Ref carry_stack(Segment& segment, const Segment& from, trace::Ref before,
                       const trace::StackRecord& record);

}  // namespace geiger::capture
