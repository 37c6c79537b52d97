// The countdown of a thread's allocations, taken, settled and armed again (countdown.h), with the
// totals in the thread's record.
//
// A reader of both finds them changing between begin_change() and arm() (allocated_bytes.h).
//
// Threads: the owner of the state, which is enrolled in the current segment. Signals: what a
// handler allocates meanwhile is tried and counted. Fork: the child enrols anew.
// Allocates: never.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {

struct Segment;

/// The counter while a slow path has it: room for what a signal handler allocates, and
/// few enough bytes that a thread which jumped out of decide() comes back soon.
inline constexpr std::uint64_t kGrace = kMiB;

/// The counter of a thread that is never to be asked again (2^63 bytes away).
inline constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

/// Adds allocated bytes, which a handler may do in the middle of its thread's addition: hence not
/// add().
inline void add_allocated(ThreadState& state, std::uint64_t bytes) {
  state.allocated.fetch_add(bytes, std::memory_order_relaxed);
}

/// From here until arm() the counter and what it is settled to do not belong together.
inline void begin_change(ThreadState& state) {
  state.settling.store(state.settling.load(std::memory_order_relaxed) | 1,
                       std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

/// A thread's record in the trace, as totals of decided allocations.
struct RecordTotals {
  trace::ThreadRecord& record;

  void tried(std::uint64_t bytes) const { add(record.trials, bytes); }
  void hit(std::uint64_t tail_bytes) const {
    add(record.tail_bytes, tail_bytes);
    add(record.hits, std::uint64_t{1});
  }
  void certain(Bytes bytes) const {
    add(record.certain_bytes, bytes);
    add(record.certain_count, std::uint64_t{1});
  }
};

/// Takes the calling thread's counter out of use and settles it; arm() follows. False: the thread
/// decides already, further up its stack.
[[nodiscard]] bool begin_settling(ThreadState& state);

/// Settles the bytes since the counter was armed, of which `rest` is left.
void settle_state(ThreadState& state, std::uint64_t armed, std::uint64_t rest);

/// Draws with what is in force from here on.
void adopt_epoch(ThreadState& state, Segment& segment);

/// Hands the counter back to the fast path. What handlers allocated since it was taken is put to
/// trial first.
void arm(ThreadState& state);

/// Settles what the calling thread has allocated; from here every allocation of
/// it does so itself.
void settle_for_good(ThreadState& state);

/// Lets the calling thread draw with the interval in force from here on, not only from its
/// next slow path.
void follow_now();

}  // namespace geiger::capture
