// Slots that detect wrong accesses: each is one page between two inaccessible ones, and becomes
// inaccessible itself when its object is freed.
//
//   | guard | slot 0 | guard | slot 1 | ... | slot 511 | guard |
//
//   object at the left    [object......|filling...........]     an access before it traps
//   object at the right   [...........filling|object......]     an access after it traps
//   object at the end     the same, without regard to kLeastAlignment
//
// A write between the object and the far end of its page does not trap, but changes the filling,
// which is checked when the object is freed. Objects at the right end on a multiple of their
// alignment, so up to kLeastAlignment - 1 bytes of filling follow them too.
//
// Freed slots are reused only after all others: first freed, first used.
//
// Life of a slot:
//
//   kUnused --take--> kTaken --publish--> kLive --claim--> kEnding --retire--> kFreed
//                       ^                   ^------restore----/                  /
//                       \--------------------------take-------------------------/
//
// Only the thread that changed the state to kTaken or kEnding writes the other fields.
//
// Threads / Signals: lock-free; no function waits. A thread that never returns from the middle of
// one (a jump out of a handler, a fork in another thread) costs one slot, or all free ones. Fork:
// the child has a copy of the slots and their objects. Allocates: pages from the kernel, once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"

namespace geiger::guard {

// A queue of free slots, first in, first out: a ring whose places have turn counters.
//
//   place i of turn t:   turn == 2 t        empty, to be filled by the t-th push that comes here
//                        turn == 2 t + 1    full, to be emptied by the t-th pop
//
// Threads / Signals: lock-free. If a thread never returns from the middle of a push or pop, the
// queue stops at its place and looks empty, or full. Fork: the child keeps its copy. Allocates:
// never.

/// Empty when zero-initialised. `kPlaces`: a power of two.
template <std::size_t kPlaces>
class Queue {
  static_assert((kPlaces & (kPlaces - 1)) == 0);

 public:
  /// False: full.
  bool push(std::uint32_t value) {
    std::uint64_t at = pushed_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kPlaces];
      const std::uint64_t turn = at / kPlaces * 2;
      const std::uint64_t seen = place.turn.load(std::memory_order_acquire);
      if (seen < turn) return false;
      if (seen == turn && pushed_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        place.value = value;
        place.turn.store(turn + 1, std::memory_order_release);
        return true;
      }
      if (seen > turn) at = pushed_.load(std::memory_order_relaxed);
    }
  }

  /// False: empty.
  bool pop(std::uint32_t& value) {
    std::uint64_t at = popped_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kPlaces];
      const std::uint64_t turn = at / kPlaces * 2 + 1;
      const std::uint64_t seen = place.turn.load(std::memory_order_acquire);
      if (seen < turn) return false;
      if (seen == turn && popped_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        value = place.value;
        place.turn.store(turn + 1, std::memory_order_release);
        return true;
      }
      if (seen > turn) at = popped_.load(std::memory_order_relaxed);
    }
  }

 private:
  struct Place {
    std::atomic<std::uint64_t> turn{0};
    std::uint32_t value = 0;
  };
  Place places_[kPlaces]{};
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<std::uint64_t> popped_{0};
};

inline constexpr std::size_t kSlots = 512;

/// The alignment that every malloc of this platform guarantees.
inline constexpr std::size_t kLeastAlignment = 16;

/// Return addresses kept of each stack, for traces without its record.
inline constexpr std::size_t kKeptFrames = 30;

/// The record of a stack in the trace, and its innermost frames.
struct KeptStack {
  std::uint32_t segment;  ///< Number of the trace's segment with the record; 0: none.
  std::uint32_t ref;      ///< The record.
  std::uint64_t count;
  std::uint64_t frames[kKeptFrames];
};

/// An allocation or free of an object: time, thread and stack.
struct Event {
  Nanoseconds time;
  std::uint64_t thread;  ///< The kernel's thread id.
  KeptStack stack;
};

enum class SlotState : std::uint32_t { kUnused = 0, kTaken, kLive, kEnding, kFreed };

enum class Side : std::uint8_t { kLeft, kRight, kEnd };

struct Slot {
  std::atomic<SlotState> state;
  Address object;     ///< Address of the program's object, live or freed.
  std::size_t bytes;  ///< Its requested size.
  void* block;        ///< The allocator's own block, kept while the object is live.
  bool is_marked;     ///< The caller of take() has noted the object's addresses.
  Event allocated;
  Event freed;
};

/// Maps the slots unless they are mapped. False: no memory, or another thread is mapping them.
[[nodiscard]] bool open_slots();

/// The addresses of all slots and the pages around them; none before open_slots().
struct Range {
  std::atomic<Address> start;
  std::atomic<std::size_t> bytes;
};
[[gnu::visibility("hidden")]] extern constinit Range range;

/// Whether an address is in a slot or in a page beside one.
[[nodiscard]] GEIGER_FAST_PATH bool owns(const void* address) {
  return reinterpret_cast<Address>(address) - range.start.load(std::memory_order_relaxed) <
         range.bytes.load(std::memory_order_relaxed);
}

/// Whether a slot has room for an object. Objects of 0 bytes are refused: their slot would have no
/// usable bytes, but every allocator provides some.
[[nodiscard]] bool fits(std::size_t bytes, std::size_t alignment);

/// Takes a free slot, which still describes its last object; null: none is free.
[[nodiscard]] Slot* take_slot();

/// Makes the page of a taken slot accessible, fills it, and places the object, which fits(). False:
/// the kernel refused, and the slot is free again.
[[nodiscard]] bool prepare(Slot& slot, std::size_t bytes, std::size_t alignment, Side side);

/// Makes the object live; it now belongs to the program.
void publish(Slot& slot, void* block);

/// The slot whose current or last object begins at an address; null: none.
[[nodiscard]] Slot* slot_of(const void* object);

/// The slot whose object an access to the address was meant for: of the two neighbours the nearer
/// one, and if both are equally near, the live one. Null: the address is not in the slots.
[[nodiscard]] Slot* nearest_slot(Address address);

/// Claims the object for the caller to end. False: it is not live, or another thread is ending it.
[[nodiscard]] bool claim(Slot& slot);
/// Undoes the claim: the object is live again.
void restore(Slot& slot);

/// Address of the nearest changed byte outside the object; 0: none.
[[nodiscard]] Address damage_of(const Slot& slot);

/// Makes the page of a claimed slot inaccessible, and queues the slot for reuse.
void retire(Slot& slot);

/// All slots; null before open_slots().
[[nodiscard]] Slot* all_slots();

/// Whether the slot has an object, live or freed.
[[nodiscard]] inline bool is_known(const Slot& slot) {
  const SlotState state = slot.state.load(std::memory_order_seq_cst);
  return state == SlotState::kLive || state == SlotState::kEnding || state == SlotState::kFreed;
}

}  // namespace geiger::guard
