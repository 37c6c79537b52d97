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

/// The calling thread is never asked again.
void forget_state() {
  exchange_countdown(kNever);
  tls.state->tid = 0;
  tls.state = nullptr;
}

/// The last of a thread in the recording. False: it is in none.
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
  // glibc puts the thread's control block at the top of its stack, also of a stack
  // that the program supplied; everything in between is mapped.
  tls.stack_high = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

void end_thread() {
  ThreadState* state = own_state();
  if (state == nullptr || (!end_in_recording(*state) && !sleeps())) return;
  // The kernel may not be asked whether the thread is gone before its state serves another: the
  // destructors that follow are left unseen instead.
  if (is_confined()) forget_state();
  retire_state(*state);
  // Exit may be reading our counter: it lies in memory that goes with the thread.
  while (state->reading.load(std::memory_order_seq_cst) != 0) {
  }
}

}  // namespace geiger::capture
