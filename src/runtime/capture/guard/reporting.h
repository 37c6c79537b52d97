// Records a wrong use of a guarded object, with the stacks of its allocation and free.
//
// Threads / Signals: lock-free, also in a handler of SIGSEGV. Fork: opens a trace for a child that
// has none. Allocates: never through malloc.
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
  const guard::Slot* slot;  ///< Of the object; null: none.
};

/// Classifies an access that trapped at a guarded address.
[[nodiscard]] Fault trapped_at(Address address, vocabulary::Access access);

/// Classifies a free of a guarded address without a live object.
[[nodiscard]] Fault refused_free_of(Address address);

/// Records a fault of the calling thread at `at`.
void report(const Fault& fault, const unwind::Registers& at);

/// Keeps a stack that was just recorded: the record, and the frames of the thread's last walk.
void keep_stack(guard::KeptStack& kept, const Segment& segment, const ThreadState& state,
                trace::Ref stack);

}  // namespace geiger::capture
