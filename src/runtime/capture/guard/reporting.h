// A wrong use of a guarded object goes into the trace, with the stacks of its allocation and free.
//
// Threads / Signals: lock-free, also in a handler of SIGSEGV. Fork: a child that has no trace yet
// gets one. Allocates: never through malloc.
#pragma once

#include "runtime/capture/image/segment.h"
#include "runtime/guard/slots.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

struct Fault {
  trace::FaultKind kind;
  vocabulary::Access access;
  Address address;
  const guard::Slot* slot;  ///< Of the object; null: there is none.
};

/// What an access is that trapped at an address that is guarded.
[[nodiscard]] Fault trapped_at(Address address, vocabulary::Access access);

/// What a free is of an address that is guarded, where it ends no object.
[[nodiscard]] Fault refused_free_of(Address address);

/// Writes the fault that the calling thread commits at `at`.
void report(const Fault& fault, const unwind::Registers& at);

/// Keeps a stack that was just recorded: the record, and the frames of the thread's last walk.
void keep_stack(guard::KeptStack& kept, const Segment& segment, const ThreadState& state,
                trace::Ref stack);

}  // namespace geiger::capture
