#include "runtime/capture/guard/reporting.h"

#include <string.h>

#include <algorithm>

#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

using guard::Slot;
using guard::SlotState;
using trace::FaultKind;
using vocabulary::Access;

bool is_freed(const Slot& slot) {
  const SlotState state = slot.state.load(std::memory_order_acquire);
  return state == SlotState::kFreed || state == SlotState::kEnding;
}

/// The stack's reference in this segment. A stack of another segment, or of the process before
/// fork, is written again, as far as its frames were kept.
trace::Ref stack_in(Segment& segment, const guard::KeptStack& kept) {
  if (kept.ref != 0 && kept.segment == segment.number.load(std::memory_order_relaxed)) {
    return kept.ref;
  }
  return kept.count == 0 ? 0 : record_frames(segment, kept.frames, kept.count);
}

void fill_object(trace::FaultRecord& record, Segment& segment, const Slot& slot) {
  record.object = slot.object;
  record.bytes = slot.bytes;
  record.allocated = slot.allocated.time;
  record.allocated_by = static_cast<std::uint32_t>(slot.allocated.thread);
  record.allocated_stack = stack_in(segment, slot.allocated.stack);
  if (!is_freed(slot)) return;
  record.freed = slot.freed.time;
  record.freed_by = static_cast<std::uint32_t>(slot.freed.thread);
  record.freed_stack = stack_in(segment, slot.freed.stack);
}

/// A child by fork that has not allocated yet has no trace. One is opened, except in a handler on
/// an alternate stack, which may be too small.
bool may_begin_here(const unwind::Registers& at) {
  constexpr std::uint64_t kSameStack = 64 * kKiB;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  return at.sp - here < kSameStack;
}

}  // namespace

void keep_stack(guard::KeptStack& kept, const Segment& segment, const ThreadState& state,
                trace::Ref stack) {
  kept.segment = segment.number.load(std::memory_order_relaxed);
  kept.ref = stack;
  kept.count = std::min<std::uint64_t>(state.last_count, guard::kKeptFrames);
  if (kept.count != 0) memcpy(kept.frames, state.last_frames, kept.count * sizeof kept.frames[0]);
}

Fault trapped_at(Address address, Access access) {
  const Slot* slot = guard::nearest_slot(address);
  if (slot == nullptr || is_freed(*slot)) return {FaultKind::kUseAfterFree, access, address, slot};
  const FaultKind kind = address < slot->object ? FaultKind::kUnderflow : FaultKind::kOverflow;
  return {kind, access, address, slot};
}

Fault refused_free_of(Address address) {
  const Slot* slot = guard::nearest_slot(address);
  const bool was_object = slot != nullptr && slot->object == address && is_freed(*slot);
  return {was_object ? FaultKind::kDoubleFree : FaultKind::kInvalidFree, Access::kFree, address,
          slot};
}

GEIGER_SLOW_PATH void report(const Fault& fault, const unwind::Registers& at) {
  if (!is_recording() && (!may_begin_here(at) || start_if_due() == Readiness::kNotRecording)) {
    return;
  }
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return;
  trace::FaultRecord found{};
  found.time = base::monotonic_now();
  found.kind = fault.kind;
  found.access = fault.access;
  found.address = fault.address;
  found.stack = record_native_stack(*segment, *state, at);
  if (fault.slot != nullptr) fill_object(found, *segment, *fault.slot);
  trace::append<trace::FaultRecord>(
      segment->writer, {.thread = state->index},
      [&](trace::FaultRecord& record) { trace::copy_body(record, found); });
}

}  // namespace geiger::capture
