// The beginning and the end of a thread that starts in our trampoline.
#include "base/clock.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
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
