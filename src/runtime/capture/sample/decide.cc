// The first step of a sample: settle the counter, try the allocation, arm again.
#include "base/attributes.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/image/ending.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"

namespace geiger::capture {
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
  // Not earlier: until here the countdown is not armed, and a handler may allocate meanwhile.
  if (is_next_due(*segment)) [[unlikely]]
    go_on_in_next();
  return decision;
}

void retract(const Decision& decision, Bytes size) {
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

}  // namespace geiger::capture
