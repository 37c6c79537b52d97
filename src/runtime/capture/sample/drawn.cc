#include "runtime/capture/sample/drawn.h"

#include <algorithm>

#include "base/attributes.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "sampling/prng.h"

namespace geiger::capture {
namespace {

using sampling::Verdict;

/// Makes the allocator's generators differ from those of threads.
constexpr std::uint64_t kStream = 0x6865'6170'6472'6177;

constinit DrawingAllocator allocator{};

Verdict verdict_of(const Drawn& drawn) {
  return {drawn.is_certain ? Verdict::Kind::kCertain : Verdict::Kind::kSampled, drawn.offset};
}

/// Replaces the failed trials that were counted for the allocation by its verdict.
void count_again(const ThreadState& state, const Drawn& drawn) {
  add(state.record->trials, -drawn.allocation.requested);
  count_decided(RecordTotals{*state.record}, drawn.allocation.requested, verdict_of(drawn));
}

/// Makes the decision for a drawn allocation; not a sample if it cannot be recorded.
Decision take_over(ThreadState& state, const Drawn& drawn) {
  const PinnedSegment segment(state);
  if (!enrol(state, *segment) || !begin_settling(state)) {
    segment->writer.count_drop(trace::DropCause::kReentered);
    return {};
  }
  const bool counts = !is_paused();
  if (counts) count_again(state, drawn);
  const trace::Ref epoch = epoch_of_interval(*segment, drawn.interval);
  adopt_epoch(state, *segment);
  arm(state);
  if (epoch == 0) segment->writer.count_drop(trace::DropCause::kTraceFull);
  return {.state = &state,
          .offset = drawn.offset,
          .epoch = epoch,
          .interval = drawn.interval,
          .segment = segment->number.load(std::memory_order_relaxed),
          .is_sample = counts && epoch != 0,
          .is_certain = drawn.is_certain,
          .is_counted = counts};
}

}  // namespace

void set_drawing_allocator(const DrawingAllocator& found) { allocator = found; }

void begin_allocator_draws() {
  image.origin.is_drawn_by_allocator = allocator.draw != nullptr && !image.settings.is_pure &&
                                       image.settings.guard_rate == 0 && !image.origin.is_attached;
  if (allocator.draw == nullptr) return;
  if (!image.origin.is_drawn_by_allocator) return allocator.draw(0, 0);
  std::uint64_t seed = image.origin.seed ^ kStream;
  allocator.draw(current_segment().epoch.interval.load(std::memory_order_relaxed),
                 std::max<std::uint64_t>(sampling::splitmix64(seed), 1));
}

void keep_allocators_memory(bool keeps) {
  if (allocator.keep_memory != nullptr) allocator.keep_memory(keeps);
}

void pass_interval_on() {
  if (!image.origin.is_drawn_by_allocator) return;
  // Of two concurrent changes the later one is passed on last.
  const std::atomic<std::uint64_t>& wanted = current_segment().epoch.interval;
  std::uint64_t passed = 0;
  while (wanted.load(std::memory_order_relaxed) != passed) {
    passed = wanted.load(std::memory_order_relaxed);
    allocator.draw(passed, 0);
  }
}

GEIGER_SLOW_PATH Decision record_drawn(const Drawn& drawn, const unwind::Registers& inside) {
  if (!is_recording() || !image.origin.is_drawn_by_allocator) return {};
  ThreadState* state = own_state();
  // Every thread calls decide() in this image before it calls the allocator. So has a child of
  // vfork, which shares its parent's memory.
  if (state == nullptr || state->generation != image.origin.generation) return {};
  const Decision decision = take_over(*state, drawn);
  if (decision.is_sample) {
    record(decision, drawn.allocation,
           caller_of(*state, inside, allocator.runtime, allocator.code));
  }
  return decision;
}

}  // namespace geiger::capture
