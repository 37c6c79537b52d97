#include "runtime/capture/thread/settling.h"

#include <algorithm>

#include "runtime/capture/image/image.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/enrolment.h"

namespace geiger::capture {
namespace {

void end_change(ThreadState& state) {
  const std::uint32_t odd = state.settling.load(std::memory_order_relaxed) | 1;
  state.settling.store(odd + 1, std::memory_order_release);
}

/// Tries `bytes` that passed without trial (a handler allocated inside decide()). A sample among
/// them can no longer be recorded.
void settle_unseen(ThreadState& state, std::uint64_t bytes) {
  const sampling::Verdict verdict = state.sampler.trial(bytes);
  add_allocated(state, bytes);
  add(state.record->bytes, bytes);
  add(state.record->trials, bytes);
  if (verdict.kind == sampling::Verdict::Kind::kNotSampled) return;
  current_segment().writer.count_drop(trace::DropCause::kReentered);
}

/// The part of what is settled now that earlier segments have as pending. What this one has, arm()
/// clears. With settle_one() in checkpoint.cc: it sees the change begun, or this sees its addition.
std::uint64_t take_pending(ThreadState& state) {
  const std::uint64_t pending = state.pending.exchange(0, std::memory_order_seq_cst);
  return pending == 0 ? 0 : pending - state.record->pending.load(std::memory_order_relaxed);
}

}  // namespace

bool begin_settling(ThreadState& state) {
  begin_change(state);
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  if (armed == kTaken) return false;
  state.deciding_frame = __builtin_frame_address(0);
  settle_state(state, armed, take_countdown(tls.countdown, kGrace, 0));
  return true;
}

void settle_state(ThreadState& state, std::uint64_t armed, std::uint64_t rest) {
  const std::uint64_t unseen = settle(state.sampler, armed, rest, [&state](std::uint64_t failed) {
    add_allocated(state, failed);
    const std::uint64_t counted = take_pending(state);
    if (is_paused()) return;
    failed -= std::min(failed, counted);
    add(state.record->bytes, failed);
    add(state.record->trials, failed);
  });
  // A handler allocated between the fast path and decide(). More than kGrace: a handler jumped out
  // of decide() there, and the rest is unknown.
  if (unseen != 0 && unseen <= kGrace) settle_unseen(state, unseen);
}

void adopt_epoch(ThreadState& state, Segment& segment) {
  follow_control(segment);
  const trace::Ref epoch = segment.epoch.ref.load(std::memory_order_acquire);
  if (state.epoch.load(std::memory_order_relaxed) == epoch) return;
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(segment, epoch);
  state.sampler.change_interval(drawing.interval, drawing.lambda);
}

void arm(ThreadState& state) {
  const std::uint64_t armed = arm_countdown(
      tls.countdown, kGrace, [&state] { return state.is_ending ? 0 : state.sampler.countdown(); },
      [&state](std::uint64_t bytes) { settle_unseen(state, bytes); });
  state.record->pending.store(0, std::memory_order_relaxed);
  state.pending.store(0, std::memory_order_relaxed);
  state.record->armed.store(armed, std::memory_order_relaxed);
  // With the load in settle_others(), which reads the countdown next: it never sees this value
  // together with an older countdown.
  state.armed.store(armed, std::memory_order_release);
  state.last_armed.store(armed, std::memory_order_relaxed);
  end_change(state);
}

void settle_for_good(ThreadState& state) {
  if (!begin_settling(state)) return;
  state.is_ending = true;
  arm(state);
}

void follow_now() {
  if (!is_recording()) return;
  ThreadState* state = own_state();
  if (state == nullptr || state->generation != image.origin.generation) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment) || !begin_settling(*state)) return;
  adopt_epoch(*state, *segment);
  arm(*state);
}

}  // namespace geiger::capture
