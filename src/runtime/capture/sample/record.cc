// The remaining steps of a sample, after the allocator has returned: stack, write, track.
#include "base/attributes.h"
#include "base/clock.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/residency_answer.h"
#include "runtime/capture/control/utilization.h"
#include "runtime/capture/guard/placing.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/invariants.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/object_type.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
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
  const PinnedSegment segment(state);
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

}  // namespace geiger::capture
