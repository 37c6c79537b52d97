// Takes, settles and arms the countdown of a thread's allocations (countdown.h), with the totals in
// the thread's record.
//
// Between begin_change() and arm() readers see that both are changing (interface.h).
//
// Threads: the owner of the state, which is enrolled in the current segment. Signals: a handler's
// allocations meanwhile are tried and counted. Fork: the child enrols again.
// Allocates: never.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "runtime/capture/thread/countdown.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {

struct Segment;

/// The counter's value during a slow path: room for a signal handler's allocations, but few enough
/// bytes that a thread which jumped out of decide() soon takes the slow path again.
inline constexpr std::uint64_t kGrace = kMiB;

/// The counter of a thread that never takes the slow path again (2^63 bytes away).
inline constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

/// Whether a countdown is so large that no request exhausts it.
inline bool is_out_of_reach(std::uint64_t countdown) { return countdown >= kNever / 2; }

/// Adds allocated bytes. Atomic, unlike add(), because a handler may interrupt its thread's
/// addition and add too.
inline void add_allocated(ThreadState& state, std::uint64_t bytes) {
  state.allocated.fetch_add(bytes, std::memory_order_relaxed);
}

/// From here until arm() the counter and the settled totals are inconsistent.
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
/// is already deciding, further up its stack.
[[nodiscard]] bool begin_settling(ThreadState& state);

/// Settles the bytes since the counter was armed, of which `rest` is left.
void settle_state(ThreadState& state, std::uint64_t armed, std::uint64_t rest);

/// Draws with the interval in force from now on.
void adopt_epoch(ThreadState& state, Segment& segment);

/// Returns the counter to the fast path. First tries the bytes that handlers allocated since it was
/// taken.
void arm(ThreadState& state);

/// Settles the calling thread's allocations; each later one settles at once.
void settle_for_good(ThreadState& state);

/// Makes the calling thread draw with the interval in force at once, not only from its next slow
/// path.
void follow_now();

}  // namespace geiger::capture
