// Guard mode: one in k samples lives in a slot where wrong accesses trap (runtime/guard/slots.h),
// for as long as the program keeps it.
//
// The allocator is asked as without it: its block stays allocated beside the object and is what it
// gets back. So the heap is the same whatever is guarded. Which samples are chosen is a coin of its
// own, tossed after the decision to sample: no inclusion probability changes.
//
// The filter lets free see every address inside a guarded object, also once it was freed and until
// its slot is used again: that is how a second free is found.
//
// Threads / Signals: lock-free. Fork: the child has a copy of the objects, which it may free.
// Allocates: pages from the kernel.
#pragma once

#include <cstddef>

#include "runtime/capture/capture.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/guard/slots.h"

namespace geiger::capture {

/// Whether an address is one that guard mode gave to the program, or near it.
[[nodiscard]] inline bool is_guarded(const void* address) { return guard::owns(address); }

/// Whether the environment asks for guard mode. Before the image starts.
[[nodiscard]] bool may_guard();

/// The program frees by functions that we do not see: nothing is guarded.
void forbid_guarding();

/// Where the program's object is to be that the allocator made at `block`: there, or, if the
/// decision is a sample and the coin says so, in a slot, with what the block contains.
[[nodiscard]] void* place(const Decision& decision, void* block, std::size_t bytes,
                          std::size_t alignment);

/// The stack of the allocation of a sample that may have been placed.
void note_allocation(const void* address, Segment& segment, const ThreadState& state,
                     trace::Ref stack);

/// The bytes that the program may use at an address that is guarded; 0: no object lives there.
[[nodiscard]] std::size_t guarded_bytes(const void* object);

/// Claims the guarded object that is being freed, for the caller to end. Null: no object lives at
/// this address; the wrong free has been reported.
[[nodiscard]] guard::Slot* hold(const void* object, const unwind::Registers& caller);

/// What a wrong free of this address would have handed to the allocator; null: not known.
[[nodiscard]] void* block_behind(const void* address);

/// The allocator's block of an object that is held, with what the object contains.
[[nodiscard]] void* refreshed_block(const guard::Slot& slot);

/// The program's free of an object that is held: checks what was written beside it. The block is
/// the caller's to free.
void end_held(guard::Slot& slot, const unwind::Registers& caller);

/// After a fault the program does not go on. Its own handlers come first.
[[noreturn]] void end_after_fault();

/// Calls visit(address, 0) with each address that the filter is to hold for guarded objects.
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
