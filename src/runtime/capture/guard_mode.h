// Records a wrong use of a guarded object, with the stacks of its allocation and free.
//
// Threads / Signals: lock-free, also in a handler of SIGSEGV. Fork: opens a trace for a child that
// has none. Allocates: never through malloc.
#pragma once

#include <signal.h>

#include <cstddef>

#include "runtime/capture/capture.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/tables/filter.h"
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

// The SIGSEGV handler of guard mode: geiger's only signal handler in a program, installed with the
// first guarded object.
//
// The program does not see it: sigaction and signal answer for SIGSEGV as if the program's own
// action were in force. Our action has the flags and the mask of the program's, so that both
// handlers run under the same conditions.
//
//   a guarded address   report it, put the program's action in force for good, and return: the
//                       instruction traps again, and the kernel does what it would have done
//   any other signal    the program's handler is called; its default action is put in force, and
//                       comes when the instruction traps again or the signal is sent again
//
// A program that ignores SIGSEGV continues to ignore it, and nothing is guarded. Actions that it
// sets with direct system calls replace ours; then the program handles the traps, and nothing is
// reported.
//
// Threads / Signals: lock-free. Fork: inherited. Allocates: never.

/// The original sigaction().
using SetAction = int (*)(int signal, const struct sigaction* wanted, struct sigaction* before);
void set_signal_function(SetAction function);

/// The allocator's functions that read the block they are given. A trap in one of them is not the
/// program's fault: the call bypassed the runtime.
void set_freeing_functions(const void* free, const void* realloc);

/// Installs the handler. True: it is in force.
[[nodiscard]] bool set_trap();

/// Restores the program's own action permanently; later faults are not reported.
void give_up_trap();

[[nodiscard]] bool is_trap_given_up();

/// Whether calls that set SIGSEGV's action must go to act_for_program().
[[nodiscard]] bool is_trap_set();

/// The program's sigaction(SIGSEGV, ...). Always succeeds.
void act_for_program(const struct sigaction* wanted, struct sigaction* before);

// Guard mode: places one in k samples in a slot where wrong accesses trap (runtime/guard/slots.h),
// until the program frees it.
//
// The allocator is called as usual: its block stays allocated as long as the object and is later
// returned to it, so guarding does not change the heap. A separate coin, tossed after the decision
// to sample, chooses the samples, so no inclusion probability changes.
//
// The filter lets free see every address inside a guarded object, even after it was freed, until
// its slot is reused: this detects a second free.
//
// Threads / Signals: lock-free. Fork: the child has a copy of the objects, which it may free.
// Allocates: pages from the kernel.

/// Whether guard mode gave this address to the program, or one near it.
[[nodiscard]] inline bool is_guarded(const void* address) { return guard::owns(address); }

/// Whether the environment asks for guard mode. Before the image starts.
[[nodiscard]] bool may_guard();

/// Turns guarding off, because the program frees with functions that we do not interpose.
void forbid_guarding();

/// Returns the address to hand to the program for the allocator's `block`: the block, or, if the
/// decision is a sample and the coin chooses it, a slot with a copy of its contents.
[[nodiscard]] void* place(const Decision& decision, void* block, std::size_t bytes,
                          std::size_t alignment);

/// Keeps the allocation stack of a sample that may have been placed.
void note_allocation(const void* address, Segment& segment, const ThreadState& state,
                     trace::Ref stack);

/// The bytes that the program may use at a guarded address; 0: no live object there.
[[nodiscard]] std::size_t guarded_bytes(const void* object);

/// Claims the guarded object that is being freed; the caller ends it. Null: no live object at this
/// address; the wrong free has been reported.
[[nodiscard]] guard::Slot* hold(const void* object, const unwind::Registers& caller);

/// The address in the allocator's block that corresponds to `address`, for a wrong free; null: not
/// known.
[[nodiscard]] void* block_behind(const void* address);

/// Copies the contents of a held object to its allocator's block and returns the block.
[[nodiscard]] void* refreshed_block(const guard::Slot& slot);

/// The program's free of a held object: checks for writes beside it. The caller frees the block.
void end_held(guard::Slot& slot, const unwind::Registers& caller);

/// Aborts the program after a fault; its own handlers run first.
[[noreturn]] void end_after_fault();

/// Calls visit(address, 0) for each address that the filter must contain for guarded objects.
template <typename Visit>
void for_each_guarded_address(const Visit& visit) {
  const guard::Slot* slots = guard::all_slots();
  for (std::size_t i = 0; slots != nullptr && i < guard::kSlots; ++i) {
    if (guard::is_known(slots[i])) for_each_address(slots[i], visit);
  }
}

/// One address of each block of the filter that an object covers.
template <typename Visit>
void for_each_address(const guard::Slot& slot, const Visit& visit) {
  constexpr Address kBlock = Address{1} << Filter::kLog2BlockBytes;
  const Address end = slot.object + slot.bytes;
  for (Address at = slot.object; at < end; at = (at / kBlock + 1) * kBlock) visit(at, 0);
}

}  // namespace geiger::capture
