// Notifies tools of every sample and every free of a sample: first the probes, then one listener in
// the process.
//
// Threads: the listener is called on the thread that allocates or frees, after the record is
// committed and outside every table operation. Its own allocations are tried too, but it is not
// called for their samples. Signals: may be called in a handler that allocates. It must return:
// after a jump or an exception out of it, it is no longer called in that thread.
#pragma once

#include <atomic>

#include "runtime/capture/image/segment.h"
#include "trace/format.h"

namespace geiger::capture {

struct Segment;
struct ThreadState;

struct Listener {
  /// `sample` is the reference of the sample's record in the trace, which is valid during the call.
  void (*sampled)(void* context, const TraceView& trace, trace::Ref sample,
                  const trace::SampleRecord& record);
  void (*freed)(void* context, const TraceView& trace, trace::Ref sample,
                const trace::FreeRecord& record);
  void* context;
  /// Whether it wants samples now, even if the process sleeps. Null: never wakes a process.
  bool (*is_wanted)(void* context) = nullptr;
};

/// At most one; null = none. A stored listener must stay valid for ever: a thread may be about to
/// call it.
[[gnu::visibility("hidden")]] extern constinit std::atomic<const Listener*> listener;

/// Whether a tool listens, by a probe or through the listener.
[[nodiscard]] bool is_listened_to();

/// Calls the listener, unless the allocation is its own.
void tell_sampled(const Segment& segment, ThreadState& state, trace::Ref sample,
                  const trace::SampleRecord& record);
void tell_freed(const Segment& segment, ThreadState* state, trace::Ref sample,
                const trace::FreeRecord& record);

}  // namespace geiger::capture
