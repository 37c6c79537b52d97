// Places that betray wrong accesses: each slot is one page between two that nobody can touch, and
// becomes such a page itself when its object is freed.
//
//   | guard | slot 0 | guard | slot 1 | ... | slot 511 | guard |
//
//   object at the left    [object......|filling...........]     an access before it traps
//   object at the right   [...........filling|object......]     an access behind it traps
//
// What traps nobody, a write between the object and the far end of its page, changes the filling,
// which is looked at when the object is freed. Objects at the right end at an address that is a
// multiple of their alignment, so up to kLeastAlignment - 1 bytes of filling lie behind them too.
//
// Freed slots wait as long as others are there: first freed, first used again.
//
// Life of a slot:
//
//   kUnused --take--> kTaken --publish--> kLive --claim--> kEnding --retire--> kFreed
//                       ^                   ^------restore----/                  /
//                       \--------------------------take-------------------------/
//
// Only the thread that made the step to kTaken or kEnding writes the other fields.
//
// Threads / Signals: lock-free; no function waits. A thread that never comes back in the middle of
// one (a jump out of a handler, a fork in another thread) costs one slot, or all free ones. Fork:
// the child has a copy of the slots and of what is in them. Allocates: pages from the kernel, once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "base/units.h"

namespace geiger::guard {

inline constexpr std::size_t kSlots = 512;

/// What every malloc of this platform promises.
inline constexpr std::size_t kLeastAlignment = 16;

/// Return addresses kept of each stack, for traces that do not have its record.
inline constexpr std::size_t kKeptFrames = 30;

/// A stack as the trace has it, and its innermost frames.
struct KeptStack {
  std::uint32_t segment;  ///< Number of the trace's segment with the record; 0: none.
  std::uint32_t ref;      ///< The record.
  std::uint64_t count;
  std::uint64_t frames[kKeptFrames];
};

/// Who allocated or freed an object, when and where.
struct Event {
  Nanoseconds time;
  std::uint64_t thread;  ///< As the kernel numbers it.
  KeptStack stack;
};

enum class SlotState : std::uint32_t { kUnused = 0, kTaken, kLive, kEnding, kFreed };

enum class Side : std::uint8_t { kLeft, kRight };

struct Slot {
  std::atomic<SlotState> state;
  Address object;     ///< Where the program's object is, or was.
  std::size_t bytes;  ///< Of it, as requested.
  void* block;        ///< The allocator's own, for as long as the object lives.
  bool is_marked;     ///< Whoever takes slots has noted the addresses of its object.
  Event allocated;
  Event freed;
};

/// Maps the slots if that has not happened. False: no memory, or another thread is about to.
[[nodiscard]] bool open_slots();

/// The addresses of all slots and the pages around them; none before open_slots().
struct Range {
  std::atomic<Address> start;
  std::atomic<std::size_t> bytes;
};
[[gnu::visibility("hidden")]] extern constinit Range range;

/// Whether an address is of a slot, or of a page beside one.
[[nodiscard]] GEIGER_FAST_PATH bool owns(const void* address) {
  return reinterpret_cast<Address>(address) - range.start.load(std::memory_order_relaxed) <
         range.bytes.load(std::memory_order_relaxed);
}

/// Whether a slot has room for an object. Of one without bytes it would say that it has none to
/// use, where every allocator gives some.
[[nodiscard]] bool fits(std::size_t bytes, std::size_t alignment);

/// A slot that is free, with what it remembers of its last object; null: there is none.
[[nodiscard]] Slot* take_slot();

/// Makes the page of a taken slot accessible, fills it, and chooses where the object is to be,
/// which fits(). False: the kernel refused, and the slot is free again.
[[nodiscard]] bool prepare(Slot& slot, std::size_t bytes, std::size_t alignment, Side side);

/// The object is the program's from now on.
void publish(Slot& slot, void* block);

/// The slot of the object that begins at an address, or did last; null: none.
[[nodiscard]] Slot* slot_of(const void* object);

/// The slot whose object an address was meant for: of those on either side of it, the one that is
/// nearer to the address, and of two as near the one that lives. Null: the address is not ours.
[[nodiscard]] Slot* nearest_slot(Address address);

/// Claims the object, for the caller to end. False: it does not live, or another thread ends it.
[[nodiscard]] bool claim(Slot& slot);
/// The object of a claimed slot lives on.
void restore(Slot& slot);

/// Address of the byte outside of the object that was written to, the nearest one; 0: none was.
[[nodiscard]] Address damage_of(const Slot& slot);

/// Makes the page of a claimed slot inaccessible; it waits to be used again.
void retire(Slot& slot);

/// All slots; null before open_slots().
[[nodiscard]] Slot* all_slots();

/// Whether it has an object, which lives or was freed.
[[nodiscard]] inline bool is_known(const Slot& slot) {
  const SlotState state = slot.state.load(std::memory_order_seq_cst);
  return state == SlotState::kLive || state == SlotState::kEnding || state == SlotState::kFreed;
}

}  // namespace geiger::guard
