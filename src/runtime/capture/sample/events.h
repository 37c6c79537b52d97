// Who is told, inside the process, of every sample and of every free of one: the probes
// that tools attach to, then one listener.
//
// Threads: called on the thread that allocates or frees, after the record is committed
// and outside every table operation. What it allocates is put to trial as ever, but of
// samples in there it is not told. Signals: may be called in a handler that allocates.
// It must return: a jump or an exception out of it leaves its thread untold from then on.
#pragma once

#include <atomic>

#include "runtime/capture/image/trace_view.h"
#include "trace/format.h"

namespace geiger::capture {

struct Segment;
struct ThreadState;

struct Listener {
  /// `sample` is the reference of its record in the trace, which stays for the call.
  void (*sampled)(void* context, const TraceView& trace, trace::Ref sample,
                  const trace::SampleRecord& record);
  void (*freed)(void* context, const TraceView& trace, trace::Ref sample,
                const trace::FreeRecord& record);
  void* context;
  /// Whether it wants samples at this moment, also of a process that sleeps. Null: it wakes none.
  bool (*is_wanted)(void* context) = nullptr;
};

/// At most one; null = none. What was stored once must stay valid for ever: a thread may
/// be about to call it.
[[gnu::visibility("hidden")]] extern constinit std::atomic<const Listener*> listener;

/// Whether a tool listens, by a probe or through the listener.
[[nodiscard]] bool is_listened_to();

/// Tells the listener, unless it is the one who allocates.
void tell_sampled(const Segment& segment, ThreadState& state, trace::Ref sample,
                  const trace::SampleRecord& record);
void tell_freed(const Segment& segment, ThreadState* state, trace::Ref sample,
                const trace::FreeRecord& record);

}  // namespace geiger::capture
