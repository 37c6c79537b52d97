#include "runtime/capture/image/checkpoint.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/control/attach.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/control/exit_scan.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/writer.h"

namespace geiger::capture {

namespace {

using base::is_error;
using base::raw_syscall;
using trace::CarriedRecord;
using trace::RecordHeader;
using trace::SampleRecord;

trace::Ref carry_epoch(Segment& next, const Segment& before, trace::Ref epoch) {
  return epoch_of_interval(next, before.writer.at<trace::EpochRecord>(epoch).interval);
}

trace::Ref carry_stack_of(Segment& next, const Segment& before, trace::Ref stack) {
  if (stack == 0) return 0;
  return carry_stack(next, before, stack, before.writer.at<trace::StackRecord>(stack));
}

/// The sample with its references translated to `next`; if there is no room, stack and epoch are 0.
SampleRecord moved(Segment& next, const Segment& before, SampleRecord sample) {
  sample.stack = carry_stack_of(next, before, sample.stack);
  sample.epoch = carry_epoch(next, before, sample.epoch);
  sample.label = carry_name(next, before, sample.label);
  sample.type = carry_name(next, before, sample.type);
  return sample;
}

/// Writes the records of live threads into the next segment, whether they run again or not.
void carry_threads(Segment& next) {
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    const bool is_named = state->lifecycle.load(std::memory_order_acquire) == kLive &&
                          state->generation == image.origin.generation;
    if (!is_named) continue;
    trace::ThreadRecord* record = write_thread(next, *state, trace::kFlagCarriedThread);
    if (record != nullptr) record->armed.store(state->last_armed.load(std::memory_order_relaxed));
  }
}

void write_checkpoint(Segment& next, std::uint64_t carried, std::uint64_t lost) {
  trace::append<trace::CheckpointRecord>(next.writer, {}, [&](trace::CheckpointRecord& record) {
    record.time = base::monotonic_now();
    record.carried = carried;
    record.lost = lost;
  });
}

bool carry_one(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value) {
  const auto previous = static_cast<trace::Ref>(value);
  // A slow path that took longer than a whole segment skips that segment.
  const bool is_next = next.writer.header()->segment == before.writer.header()->segment + 1;
  const SampleRecord sample = moved(next, before, sample_at(before, previous));
  // The sample's own header, or that of the CarriedRecord that contains it.
  const auto last = RecordHeader::unpack(before.writer.at<SampleRecord>(previous).header);
  auto draft = trace::begin_record<CarriedRecord>(
      next.writer, {.thread = last.thread, .flags = last.flags, .cpu = last.cpu});
  if (!draft) return false;
  draft.record->sample = sample;
  draft.record->sample.header = 0;
  draft.record->previous = is_next ? previous : 0;
  const bool lives = image.live.table.exchange(key, value, live_value(next, draft.ref));
  if (!lives) draft.add_flags(trace::kFlagVoid);
  trace::commit_record(draft);
  return true;
}

void carry_all(Segment& next, const Segment& before) {
  Continuation& done = image.segments.continuation;
  image.live.table.for_each([&](std::uint64_t key, std::uint64_t value) {
    if (!is_of(before, value)) return;
    const bool is_carried = carry_one(next, before, key, value);
    ++(is_carried ? done.carried : done.lost);
  });
  next.writer.count_drop(trace::DropCause::kUncarried, done.lost);
  write_checkpoint(next, done.carried, done.lost);
}

/// Runs once the next segment is in use. A thread that finds it unfinished runs it again: carried
/// samples no longer belong to the previous segment.
void finish_checkpoint(Segment& next, const Segment& before) {
  carry_threads(next);
  carry_all(next, before);
  next.full_at = full_at(next);
  image.segments.continuation.before = nullptr;
}

/// Removes the oldest trace if there are more than GEIGER_KEEP.
void forget_oldest(std::uint32_t segment) {
  const std::uint64_t keep = image.settings.keep;
  if (keep == 0 || segment < keep) return;
  const auto oldest = static_cast<std::uint32_t>(segment - keep);
  remove_trace(image.segments.files[oldest % std::size(image.segments.files)]);
}

void publish(Segment& next, Segment& before) {
  write_thinning(next);
  next.writer.header()->state.store(trace::State::kSampling, std::memory_order_release);
  list_ranges(next.writer.header()->runtime_ranges);
  image.intervals.doubled_at.store(0, std::memory_order_relaxed);
  image.segments.current.store(&next, std::memory_order_seq_cst);
  // Another thread may have ended the recording meanwhile: end_recording() checks for `next` after
  // it has stopped `before`; this checks whether `before` has stopped after publishing `next`.
  if (before.writer.is_stopped()) {
    next.writer.finish(trace::State::kStopped, base::monotonic_now());
  } else {
    before.writer.finish(trace::State::kContinued, base::monotonic_now());
  }
}

/// A thread's record in this segment: the existing one, or a new one if it has not run since the
/// segment began.
trace::ThreadRecord* last_record(Segment& segment, const ThreadState& state) {
  const bool is_here = state.segment == segment.number.load(std::memory_order_relaxed);
  return is_here ? state.record : write_thread(segment, state, 0);
}

enum class After : std::uint8_t { kEnd, kNextSegment };

/// Writes into the segment, which ends, what a thread has allocated since it was armed and no
/// earlier segment has; `rest()` reads its counter, a larger value if it cannot be read. The thread
/// goes on: when it settles in this segment, it clears what is written here; in a later one, it
/// leaves it out (settling.cc). What it settles meanwhile is not pending.
template <typename Rest>
void settle_one(Segment& segment, ThreadState& state, After after, const Rest& rest) {
  const std::uint32_t settling = state.settling.load(std::memory_order_seq_cst);
  const std::uint64_t armed = state.armed.load(std::memory_order_seq_cst);
  if (settling % 2 != 0 || armed == kTaken) return;
  const std::uint64_t left = rest();
  trace::ThreadRecord* record = left <= armed ? last_record(segment, state) : nullptr;
  if (record == nullptr) return;
  const std::uint64_t before = state.pending.load(std::memory_order_relaxed) -
                               record->pending.load(std::memory_order_relaxed);
  record->pending.store(armed - left - before, std::memory_order_relaxed);
  record->armed.store(after == After::kEnd ? 0 : left, std::memory_order_relaxed);
  state.pending.store(armed - left, std::memory_order_seq_cst);
  if (state.settling.load(std::memory_order_seq_cst) == settling) return;
  record->armed.store(state.last_armed.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const bool is_taken = state.pending.exchange(0, std::memory_order_seq_cst) != armed - left;
  if (!is_taken) record->pending.store(0, std::memory_order_relaxed);
}

/// Of threads that run on as a segment ends, or the recording with it.
void settle_others(Segment& segment, const ThreadState* self, After after) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state == self || state->is_foreign || state->generation != image.origin.generation)
      continue;
    state->reading.fetch_add(1, std::memory_order_seq_cst);
    if (state->lifecycle.load(std::memory_order_seq_cst) == kLive) {
      settle_one(segment, *state, after, [state] {
        return std::atomic_ref(*state->countdown).load(std::memory_order_relaxed);
      });
    }
    state->reading.fetch_sub(1, std::memory_order_release);
  }
}

/// Of threads that were running before the recording began, whose end we do not see.
void settle_foreign(Segment& segment, After after) {
  const std::uint32_t pid = segment.writer.header()->pid;
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (!state->is_foreign || state->generation != image.origin.generation) continue;
    settle_one(segment, *state, after, [&] { return counter_of_foreign(*state, pid); });
  }
}

GEIGER_SLOW_PATH void open_next(Segment& before) {
  const std::uint32_t wanted =
      before.writer.control()->wanted_segment.load(std::memory_order_relaxed);
  image.served.segment.store(wanted, std::memory_order_relaxed);
  Segment* next = open_segment(&before);
  if (next == nullptr) {  // The last one continues; try again after the same growth.
    before.writer.header()->segment_errno.store(image.segments.open_error);
    before.full_at = full_at(before);
    return;
  }
  next->full_at = 0;  // Not before its checkpoint is complete.
  image.segments.continuation.carried = image.segments.continuation.lost = 0;
  image.segments.continuation.before = &before;
  if (!is_paused()) {
    settle_others(before, nullptr, After::kNextSegment);
    settle_foreign(before, After::kNextSegment);
  }
  publish(*next, before);
  forget_oldest(next->writer.header()->segment);
  finish_checkpoint(*next, before);
}

/// A handler's frames are below those that it interrupted, unless it runs on an alternate stack.
bool is_on_alternate_stack() {
  stack_t stack{};
  return is_error(raw_syscall(SYS_sigaltstack, 0, reinterpret_cast<long>(&stack))) ||
         (stack.ss_flags & SS_ONSTACK) != 0;
}

/// Claims the continuation for the calling thread. False: another thread has it, or this thread
/// does further up its stack.
bool claim_continuation(const void* frame) {
  Continuation& continuation = image.segments.continuation;
  const ThreadState* self = own_state();
  const ThreadState* by = nullptr;
  if (!continuation.by.compare_exchange_strong(by, self, std::memory_order_acquire)) {
    const bool has_ended = by->lifecycle.load(std::memory_order_acquire) == kFree;
    const bool was_left =
        by == self ? frame >= continuation.frame && !is_on_alternate_stack() : has_ended;
    if (!was_left || !continuation.by.compare_exchange_strong(by, self, std::memory_order_acquire))
      return false;
  }
  continuation.frame = frame;
  return true;
}

/// Removes the file of a segment that was abandoned before it came into use.
void remove_unused(const Segment& current) {
  if (image.settings.in_memory) return;
  const std::uint32_t segment = current.writer.header()->segment;
  const std::uint32_t newest = image.segments.next_file - 1;
  if (newest != image.segments.files[segment % std::size(image.segments.files)])
    remove_trace(newest);
}

}  // namespace

/// A trace in memory cannot grow beyond its capacity: it continues in the next segment before it is
/// full, but never immediately again, however much was carried into it.
Bytes full_at(const Segment& segment) {
  if (image.settings.segment == 0) return 0;
  const Bytes tail = segment.writer.tail();
  const Bytes wanted = tail + image.settings.segment;
  if (!image.settings.in_memory) return wanted;
  const Bytes capacity = segment.writer.header()->capacity;
  return std::max(std::min(wanted, capacity / 8 * 7), tail + capacity / 16);
}

bool is_next_due(const Segment& segment) {
  if (is_confined()) return false;  // Opening a segment needs system calls.
  if (image.segments.continuation.before != nullptr) return true;
  if (segment.full_at != 0 && segment.writer.tail() >= segment.full_at) return true;
  const std::uint32_t wanted =
      segment.writer.control()->wanted_segment.load(std::memory_order_relaxed);
  return wanted != image.served.segment.load(std::memory_order_relaxed);
}

GEIGER_SLOW_PATH void go_on_in_next() {
  if (!claim_continuation(__builtin_frame_address(0))) return;
  Segment& current = current_segment();
  Segment* left = image.segments.continuation.before;
  if (left != nullptr && left != &current) {
    finish_checkpoint(current, *left);
  } else if (left != nullptr || is_next_due(current)) {
    remove_unused(current);
    open_next(current);
  }
  image.segments.continuation.by.store(nullptr, std::memory_order_release);
}

void carry(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value) {
  if (!carry_one(next, before, key, value)) {
    next.writer.count_drop(trace::DropCause::kUncarried);
  }
}

namespace {

/// Runs at exit(), after those destructors of the program that precede ours.
[[gnu::destructor]] void finish() {
  wait_for_scan();
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
  settle_others(segment, self, After::kEnd);
  if (end == trace::State::kStopped) settle_foreign(segment, After::kEnd);
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
    settle_others(segment, nullptr, After::kEnd);
    settle_foreign(segment, After::kEnd);
    segment.writer.finish(trace::State::kStopped, base::monotonic_now());
    shrink_traces();
  }
  image.phase.store(sleeps() ? Phase::kDormant : Phase::kDetached, std::memory_order_release);
}

}  // namespace geiger::capture
