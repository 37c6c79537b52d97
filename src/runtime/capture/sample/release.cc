// The end of a live sample: removed from the live table, then recorded.
#include "base/attributes.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/invariants.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/object_type.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/thread/enrolment.h"

namespace geiger::capture {

std::uint64_t take(const void* address) { return take_live(address); }

void settle_taken(std::uint64_t taken, const unwind::Registers& caller) {
  if (taken == 0 || !is_recording()) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!is_of(*segment, taken) || !enrol(*state, *segment)) return;
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
