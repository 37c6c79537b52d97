#include "runtime/capture/guard/placing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/guard/reporting.h"
#include "runtime/capture/guard/trap.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "sampling/prng.h"

namespace geiger::capture {
namespace {

using guard::Slot;
using vocabulary::GuardObstacle;

/// Tosses so far in this process. Each toss takes the next number of one sequence.
constinit std::atomic<std::uint64_t> tosses{0};

struct Toss {
  bool is_chosen;  ///< With probability 1 / rate.
  guard::Side side;
};

Toss toss(std::uint64_t rate) {
  std::uint64_t state =
      image.origin.seed + tosses.fetch_add(1, std::memory_order_relaxed) * 0xd1342543de82ef95U;
  const std::uint64_t drawn = sampling::splitmix64(state);
  return {(drawn >> 32) * rate >> 32 == 0,
          (drawn & 1) != 0 ? guard::Side::kRight : guard::Side::kLeft};
}

constinit bool is_forbidden = false;

/// Whether guarding is possible; records the obstacle in the trace.
bool is_possible(trace::FileHeader& header) {
  GuardObstacle obstacle = GuardObstacle::kNone;
  if (is_forbidden) {
    obstacle = GuardObstacle::kPrivateFrees;
  } else if (is_confined()) {
    obstacle = GuardObstacle::kConfined;
  } else if (!set_trap()) {
    obstacle = is_trap_given_up() ? GuardObstacle::kFaulted : GuardObstacle::kIgnoresTraps;
  } else if (!guard::open_slots()) {
    obstacle = GuardObstacle::kNoMemory;
  }
  header.guard_obstacle.store(obstacle, std::memory_order_relaxed);
  return obstacle == GuardObstacle::kNone;
}

/// Takes a slot and removes its last object's marks from the filter.
Slot* take_unmarked() {
  const std::size_t mask = filter.mask();  // Before take_slot() clears the object.
  Slot* slot = guard::take_slot();
  if (slot != nullptr && slot->is_marked) {
    for_each_address(*slot, [mask](Address address, std::uint64_t) {
      filter.remove(reinterpret_cast<const void*>(address), mask);
    });
    slot->is_marked = false;
  }
  return slot;
}

GEIGER_SLOW_PATH void* place_chosen(trace::FileHeader& header, void* block, std::size_t bytes,
                                    std::size_t alignment, guard::Side side) {
  if (!is_possible(header)) return block;
  header.guard_chosen.fetch_add(1, std::memory_order_relaxed);
  if (!guard::fits(bytes, alignment)) {
    header.guard_large.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  Slot* slot = take_unmarked();
  if (slot == nullptr || !guard::prepare(*slot, bytes, alignment, side)) {
    header.guard_full.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  image.intervals.governor.spend(Governor::kGuardCost);
  void* object = reinterpret_cast<void*>(slot->object);
  memcpy(object, block, bytes);
  guard::publish(*slot, block);
  for_each_address(*slot, [](Address address, std::uint64_t) {
    filter.add(reinterpret_cast<const void*>(address));
  });
  slot->is_marked = true;
  return object;
}

/// Fills in thread, time and, if there is a trace, the stack.
void note(guard::Event& event, const unwind::Registers& caller) {
  event.time = base::monotonic_now();
  event.thread = own_thread_id();
  if (!is_recording()) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return;
  keep_stack(event.stack, *segment, *state, record_stack(*segment, *state, caller));
}

}  // namespace

bool may_guard() { return initial_value("GEIGER_GUARD") != nullptr; }

void forbid_guarding() { is_forbidden = true; }

void* place(const Decision& decision, void* block, std::size_t bytes, std::size_t alignment) {
  const std::uint64_t rate = image.settings.guard_rate;
  if (rate == 0 || !decision.is_sample || !is_recording()) [[likely]]
    return block;
  const Toss tossed = toss(rate);
  if (!tossed.is_chosen) return block;
  return place_chosen(*current_segment().writer.header(), block, bytes, alignment, tossed.side);
}

void note_allocation(const void* address, Segment& segment, const ThreadState& state,
                     trace::Ref stack) {
  Slot* slot = guard::slot_of(address);
  if (slot == nullptr) return;
  slot->allocated.time = base::monotonic_now();
  slot->allocated.thread = state.tid;
  keep_stack(slot->allocated.stack, segment, state, stack);
}

std::size_t guarded_bytes(const void* object) {
  const Slot* slot = guard::slot_of(object);
  const bool lives =
      slot != nullptr && slot->state.load(std::memory_order_acquire) == guard::SlotState::kLive;
  return lives ? slot->bytes : 0;
}

Slot* hold(const void* object, const unwind::Registers& caller) {
  Slot* slot = guard::slot_of(object);
  if (slot != nullptr && guard::claim(*slot)) return slot;
  report(refused_free_of(reinterpret_cast<Address>(object)), caller);
  return nullptr;
}

void* block_behind(const void* address) {
  const auto at = reinterpret_cast<Address>(address);
  const Slot* slot = guard::nearest_slot(at);
  const bool is_inside = slot != nullptr && at >= slot->object && at - slot->object < slot->bytes;
  return is_inside ? static_cast<char*>(slot->block) + (at - slot->object) : nullptr;
}

void* refreshed_block(const Slot& slot) {
  memcpy(slot.block, reinterpret_cast<const void*>(slot.object), slot.bytes);
  return slot.block;
}

void end_held(Slot& slot, const unwind::Registers& caller) {
  note(slot.freed, caller);
  if (const Address written = guard::damage_of(slot); written != 0) {
    const bool is_behind = written >= slot.object;
    report({is_behind ? trace::FaultKind::kOverflow : trace::FaultKind::kUnderflow,
            vocabulary::Access::kEarlierWrite, written, &slot},
           caller);
  }
  guard::retire(slot);
  image.intervals.governor.spend(Governor::kGuardCost);
}

void end_after_fault() {
  give_up_trap();
  abort();
}

}  // namespace geiger::capture
