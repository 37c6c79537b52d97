#include "runtime/capture/thread/enrolment.h"

#include <string.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"
#include "sampling/samplers.h"

namespace geiger::capture {

namespace {

/// A thread's first record in this image.
bool enrol_first(ThreadState& state, Segment& segment) {
  const std::uint32_t index = image.threads.fetch_add(1, std::memory_order_relaxed) + 1;
  if (index > trace::kMaxThread) return false;
  const bool is_forked = state.generation != 0;
  if (is_forked) state.tid = own_thread_id();
  const bool is_main = state.tid == segment.writer.header()->pid;
  state.is_foreign = !is_main && tls.stack_high == 0;
  // Earlier allocations are not part of this image: nothing to settle.
  if (state.armed.load(std::memory_order_relaxed) != kTaken)
    state.armed.store(0, std::memory_order_relaxed);
  state.pending.store(0, std::memory_order_relaxed);
  state.index = index;
  state.start = base::monotonic_now();
  state.has_name = false;
  trace::ThreadRecord* record = write_thread(segment, state, 0);
  if (record == nullptr) return false;
  state.record = record;
  const trace::Ref epoch = segment.epoch.ref.load(std::memory_order_acquire);
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(segment, epoch);
  state.sampler.start(sampling::thread_seed(image.origin.seed, index), drawing.interval,
                      drawing.lambda, image.settings.is_pure);
  state.generation = image.origin.generation;
  return true;
}

/// Continues in another segment; pending trials stay pending.
bool enrol_again(ThreadState& state, Segment& segment) {
  const trace::Ref epoch = epoch_of_interval(segment, state.sampler.interval());
  if (epoch == 0) return false;
  trace::ThreadRecord* record = write_thread(segment, state, 0);
  if (record == nullptr) return false;
  state.record = record;
  state.epoch.store(epoch, std::memory_order_relaxed);
  return true;
}

}  // namespace

Drawing drawing_in(const Segment& segment, trace::Ref epoch) {
  const auto& record = segment.writer.at<trace::EpochRecord>(epoch);
  return {record.interval, __builtin_bit_cast(double, record.lambda_bits)};
}

bool enrol(ThreadState& state, Segment& segment) {
  const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
  if (state.segment == number) return true;
  const bool is_known = state.generation == image.origin.generation;
  if (!(is_known ? enrol_again(state, segment) : enrol_first(state, segment))) return false;
  state.segment = number;
  return true;
}

void record_name(Segment& segment, ThreadState& state) {
  char name[16] = {};
  if (base::is_error(base::raw_syscall(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name))))
    return;
  if (state.has_name && memcmp(name, state.name, sizeof name) == 0) return;
  memcpy(state.name, name, sizeof name);
  state.has_name = write_thread_name(segment, state);
}

Bytes largest_interval_in_use() {
  const Segment& segment = current_segment();
  const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
  Bytes largest = segment.epoch.interval.load(std::memory_order_relaxed);
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state->lifecycle.load(std::memory_order_acquire) != kLive) continue;
    const trace::Ref epoch = state->epoch.load(std::memory_order_relaxed);
    if (epoch != 0 && state->segment == number) {
      largest = std::max(largest, drawing_in(segment, epoch).interval);
    }
  }
  return largest;
}

// The beginning and the end of a thread that starts in our trampoline.

namespace {

/// The calling thread never takes the slow path again.
void forget_state() {
  exchange_countdown(kNever);
  tls.state->tid = 0;
  tls.state = nullptr;
}

/// Ends a thread in the recording. False: it is not part of one.
bool end_in_recording(ThreadState& state) {
  if (!is_recording() || state.generation != image.origin.generation) return false;
  const PinnedSegment segment(state);
  if (!enrol(state, *segment)) return false;
  if (state.has_name) record_name(*segment, state);
  settle_for_good(state);
  state.record->end.store(base::monotonic_now(), std::memory_order_relaxed);
  return true;
}

}  // namespace

void begin_thread() {
  // glibc puts the thread's control block at the top of its stack, even if the program supplied the
  // stack; everything in between is mapped.
  tls.stack_high = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

void end_thread() {
  ThreadState* state = own_state();
  if (state == nullptr || (!end_in_recording(*state) && !sleeps())) return;
  // Confined, we cannot ask the kernel whether the thread is gone before reusing its state, so we
  // do not see its remaining destructors.
  if (is_confined()) forget_state();
  retire_state(*state);
  // exit() may be reading our counter, whose memory is freed with the thread.
  while (state->reading.load(std::memory_order_seq_cst) != 0) {
  }
}

}  // namespace geiger::capture
