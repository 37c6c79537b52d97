#include "runtime/capture/sample/sample.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/control/live_answers.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/invariants.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/object_type.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"
#include "sampling/samplers.h"

namespace geiger::capture {

// The first step of a sample: settle the counter, try the allocation, arm again.

namespace {

using sampling::Verdict;

/// No address space is larger (x86-64, aarch64).
constexpr Bytes kLargestSize = Bytes{1} << 47;

/// Bytes until a thread that cannot draw takes the slow path again. A sleeping process checks for
/// calls at least as often as a recording one; an attached one may be attached again.
std::uint64_t sleep_of(Phase phase) {
  if (phase == Phase::kStarting) return 0;
  if (sleeps()) return image.settings.interval - 1;
  return image.origin.is_attached ? kGrace : kNever;
}

/// A decide() of this thread has not finished. Returns whether a jump (siglongjmp out of a handler)
/// abandoned it, or false if a handler is allocating inside it: then the frame is deeper, and a
/// handler hardly allocates kGrace bytes many times.
bool was_abandoned(ThreadState& state, const void* frame) {
  constexpr std::uint32_t kTooMany = 16;
  if (frame >= state.deciding_frame || ++state.nested_decisions > kTooMany) return true;
  current_segment().writer.count_drop(trace::DropCause::kReentered);
  return false;
}

/// Whether an allocation without bytes needs no more than this, as most: it is not a sample, or the
/// thread does not count. A countdown of 0 may be that of a fork's child.
bool passes_empty() {
  if (is_out_of_reach(tls.countdown)) return true;
  ThreadState* state = own_state();
  return tls.countdown != 0 && state != nullptr && state->sampler.passes_empty();
}

/// Adds one decided allocation to the thread's totals.
void count(const ThreadState& state, Bytes size, const Verdict& verdict) {
  add(state.record->bytes, size);
  add(state.record->calls, std::uint64_t{1});
  count_decided(RecordTotals{*state.record}, size, verdict);
}

Decision decide_in(ThreadState& state, Segment& segment, Bytes size, Memory memory, bool is_fresh) {
  const void* frame = __builtin_frame_address(0);
  begin_change(state);
  const std::uint64_t rest = take_countdown(tls.countdown, kGrace, size);
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  const bool restarts = armed == kTaken;
  add_allocated(state, size);
  if (restarts && !was_abandoned(state, frame)) {
    exchange_countdown(rest);
    return {};
  }
  state.deciding_frame = frame;
  state.nested_decisions = 0;
  if (!restarts && !is_fresh) settle_state(state, armed, rest);
  const Verdict verdict = state.sampler.decide(size);
  const bool is_ours = memory == Memory::kPool || !image.origin.is_drawn_by_allocator;
  const bool is_sample = is_ours && verdict.kind != Verdict::Kind::kNotSampled;
  if (is_sample) expect_stack(state);
  const bool counts = !is_paused();
  if (counts) count(state, size, is_ours ? verdict : Verdict{});
  const trace::Ref epoch = state.epoch.load(std::memory_order_relaxed);
  const std::uint64_t interval = state.sampler.interval();
  adopt_epoch(state, segment);
  arm(state);
  return {.state = &state,
          .offset = verdict.offset,
          .epoch = epoch,
          .interval = interval,
          .segment = segment.number.load(std::memory_order_relaxed),
          .is_sample = counts && is_sample,
          .is_certain = verdict.kind == Verdict::Kind::kCertain,
          .is_tried = !is_ours,
          .is_counted = counts};
}

/// Ends a recording that is no longer wanted and goes to sleep. The current allocation is not part
/// of it.
GEIGER_SLOW_PATH void fall_asleep(Bytes size) {
  if (!claim_end()) return;
  tls.countdown += size;
  if (is_recording()) end_recording(trace::State::kStopped);
  if (ThreadState* self = own_state(); self != nullptr) self->is_ending = false;
  go_to_sleep();
}

/// Carries out the requests to a sleeper, then returns whether the process records.
Readiness readiness_now(Bytes size) {
  if (sleeps()) {
    const Due due = answer_calls();
    if (due == Due::kEndRecording) {
      fall_asleep(size);
    } else if (due != Due::kNothing && wake_up(due)) {
      return Readiness::kJustStarted;
    }
  }
  return start_if_due();
}

/// The process does not record: returns without a sample. In a handler that interrupted a decide()
/// of a sleeping process, the counter does not change.
Decision pass_unseen(Bytes size) {
  const ThreadState* state = own_state();
  if (sleeps() && state != nullptr && state->armed.load(std::memory_order_relaxed) == kTaken) {
    tls.countdown += size;
    return {};
  }
  exchange_countdown(sleep_of(image.phase.load(std::memory_order_relaxed)));
  return {};
}

/// The trace has no room for the thread. A trace in memory will have room again, so the next
/// allocation takes the slow path again.
Decision pass_without_record(ThreadState& state, Segment& segment, Bytes size) {
  if (!image.settings.in_memory) {
    exchange_countdown(sleep_of(Phase::kOff));
    return {};
  }
  tls.countdown += size;
  add_allocated(state, size);
  segment.writer.count_drop(trace::DropCause::kTraceFull);
  if (is_next_due(segment)) go_on_in_next();
  return {};
}

}  // namespace

GEIGER_SLOW_PATH Decision decide(Bytes size, Memory memory) {
  if (size == 0 && passes_empty()) return {};
  if (size > kLargestSize) {
    tls.countdown += size;  // No allocator can serve it.
    return {};
  }
  const Readiness readiness = readiness_now(size);
  if (readiness == Readiness::kNotRecording) return pass_unseen(size);
  ThreadState* state = known_state();
  if (state == nullptr) {
    exchange_countdown(sleep_of(Phase::kOff));
    return {};
  }
  // Bytes allocated before a thread's first slow path in a recording are not part of it.
  const bool is_fresh = readiness == Readiness::kJustStarted ||
                        (sleeps() && state->generation != image.origin.generation);
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return pass_without_record(*state, *segment, size);
  const Decision decision = decide_in(*state, *segment, size, memory, is_fresh);
  if (decision.is_sample) state->decided_in.store(decision.segment, std::memory_order_relaxed);
  // Not earlier: until here the countdown is not armed, and a handler may allocate meanwhile.
  if (is_next_due(*segment)) [[unlikely]]
    go_on_in_next();
  return decision;
}

void retract(const Decision& decision, Bytes size) {
  if (decision.is_sample) decision.state->decided_in.store(0, std::memory_order_relaxed);
  if (!decision.is_certain) return;
  decision.state->allocated.fetch_sub(size, std::memory_order_relaxed);
  if (!decision.is_counted) return;
  // If the segment has ended meanwhile, its totals cannot change any more.
  if (decision.state->segment != decision.segment || !is_recording()) return;
  trace::ThreadRecord& totals = *decision.state->record;
  add(totals.bytes, -size);
  if (decision.is_tried) return add(totals.trials, -size);
  add(totals.certain_bytes, -size);
  add(totals.certain_count, -std::uint64_t{1});
}

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
                                       image.settings.guard == 0 && !image.origin.is_attached;
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

// The remaining steps of a sample, after the allocator has returned: stack, write, track.

namespace {

/// The allocator handed out the address of a sample that is still recorded as live: its free
/// bypassed us (RTLD_DEEPBIND, static code, private APIs of the allocator).
void close_unseen(Segment& segment, ThreadState& state, const void* key) {
  const std::uint64_t taken = take_live(key);
  if (taken == 0) return;
  segment.writer.count_drop(trace::DropCause::kUnseenFree);
  write_free(segment, &state, taken, 0, trace::kFlagUnseen);
}

}  // namespace

GEIGER_SLOW_PATH void record(const Decision& decision, const Allocation& allocation,
                             const unwind::Registers& caller) {
  if (!decision.is_sample || decision.segment < image.segments.first_number || !is_recording())
    return;
  ThreadState& state = *decision.state;
  // Where it was counted, even if that has ended: so totals and samples of the later segments agree
  // without the earlier ones.
  const PinnedSegment segment(state, decision.segment);
  state.decided_in.store(0, std::memory_order_relaxed);
  const Nanoseconds begun = image.intervals.governor.is_on() ? base::monotonic_now() : 0;
  if (!state.has_name) record_name(*segment, state);
  const void* key = key_of(allocation.address, allocation.heap);
  image.live.table.prefetch(reinterpret_cast<std::uint64_t>(key));
  const trace::Ref stack = record_stack(*segment, state, caller);
  if (is_guarded(allocation.address)) note_allocation(allocation.address, *segment, state, stack);
  if (filter.maybe_holds(key)) close_unseen(*segment, state, key);
  const Seen seen{stack, base::monotonic_now()};
  const Written written = write_sample(*segment, decision, allocation, seen, key);
  if (written.is_tracked) track(*segment, key, written.value);
  if (vocabulary::is_python_object(allocation.entry_point))
    follow_object(*segment, state, allocation.address, written.is_tracked ? written.value : 0);
  if (image.intervals.governor.is_on()) regulate_interval(begun);
  serve_utilization(*segment);
  serve_residency(*segment);
  check_invariants(segment);
}

void set_allocator_path(const char* path) { allocator_path = path; }

void set_calls_privately() {
  calls_privately = true;
  if (may_guard()) forbid_guarding();
}

// The end of a live sample: removed from the live table, then recorded.

std::uint64_t take(const void* address) { return take_live(address); }

void settle_taken(std::uint64_t taken, const unwind::Registers& caller) {
  if (taken == 0 || !is_recording()) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!is_of(*segment, taken) || !enrol(*state, *segment)) return;
  look_at_finalization(*segment);
  const trace::Ref stack = wants_free_stacks() ? record_stack(*segment, *state, caller) : 0;
  write_free(*segment, state, taken, stack, 0);
  check_invariants(segment);
}

void put_back(const void* address, std::uint64_t taken) {
  if (taken != 0) insert_live(address, taken);
}

GEIGER_SLOW_PATH void release(const void* address, const unwind::Registers& caller) {
  const std::uint64_t taken = take_live(address);
  if (taken == 0) return;  // The filter has false positives.
  record_object_type(taken);
  settle_taken(taken, caller);
}

}  // namespace geiger::capture
