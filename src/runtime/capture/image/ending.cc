#include "runtime/capture/image/ending.h"

#include <atomic>

#include "base/clock.h"
#include "runtime/capture/control/attach.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

/// A thread's record in this segment: the existing one, or a new one if it has not run since the
/// segment began.
trace::ThreadRecord* last_record(Segment& segment, const ThreadState& state) {
  const bool is_here = state.segment == segment.number.load(std::memory_order_relaxed);
  return is_here ? state.record : write_thread(segment, state, 0);
}

/// Reads the counters of threads that are still alive as the program exits. They keep running, so
/// their later allocations are bounded only by `armed`.
void settle_others(Segment& segment, const ThreadState* self) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state == self || state->is_foreign || state->generation != image.origin.generation)
      continue;
    state->reading.fetch_add(1, std::memory_order_seq_cst);
    const std::uint64_t armed = state->armed.load(std::memory_order_seq_cst);
    if (state->lifecycle.load(std::memory_order_seq_cst) == kLive && armed != kTaken) {
      const std::uint64_t rest = std::atomic_ref(*state->countdown).load(std::memory_order_relaxed);
      trace::ThreadRecord* record = rest <= armed ? last_record(segment, *state) : nullptr;
      if (record != nullptr) {
        record->pending.store(armed - rest, std::memory_order_relaxed);
        record->armed.store(0, std::memory_order_relaxed);
      }
    }
    state->reading.fetch_sub(1, std::memory_order_release);
  }
}

/// When recording ends and the program continues, nothing else settles threads that were running
/// before it began.
void settle_foreign(Segment& segment) {
  const std::uint32_t pid = segment.writer.header()->pid;
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (!state->is_foreign || state->generation != image.origin.generation) continue;
    const std::uint64_t armed = state->armed.load(std::memory_order_seq_cst);
    if (armed == kTaken) continue;
    const std::uint64_t rest = counter_of_foreign(*state, pid);
    if (rest > armed) continue;
    trace::ThreadRecord* record = last_record(segment, *state);
    if (record == nullptr) continue;
    record->pending.store(armed - rest, std::memory_order_relaxed);
    record->armed.store(0, std::memory_order_relaxed);
  }
}

/// Runs at exit(), after those destructors of the program that precede ours.
[[gnu::destructor]] void finish() {
  const bool is_ours = is_recording();
  if (is_ours) end_recording(trace::State::kExited);
  if (is_ours || is_asleep()) leave_rendezvous();
}

}  // namespace

void end_recording(trace::State end) {
  Segment& segment = current_segment();
  ThreadState* self = own_state();
  if (self != nullptr && self->generation == image.origin.generation && enrol(*self, segment)) {
    record_name(segment, *self);
    settle_for_good(*self);
  }
  settle_others(segment, self);
  if (end == trace::State::kStopped) settle_foreign(segment);
  segment.writer.finish(end, base::monotonic_now());
  // Another thread may have published the next segment meanwhile (publish() in checkpoint.cc).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (Segment& last = current_segment(); &last != &segment) {
    last.writer.finish(end, base::monotonic_now());
  }
  shrink_traces();
}

void detach() {
  if (is_recording()) {
    Segment& segment = current_segment();
    settle_others(segment, nullptr);
    settle_foreign(segment);
    segment.writer.finish(trace::State::kStopped, base::monotonic_now());
    shrink_traces();
  }
  image.phase.store(sleeps() ? Phase::kDormant : Phase::kDetached, std::memory_order_release);
}

}  // namespace geiger::capture
