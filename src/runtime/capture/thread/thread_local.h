// The data of the allocation's fast path: one thread-local counter. (The fast path of free uses
// only the filter: filter.h.)
//
//   allocate(size):  countdown -= size; below 0, or no bytes?  -> slow path   (5 instructions on
//                                                                  x86-64)
//   free(p):         is the filter's slot marked?              -> slow path   (6)
//
// Invariant of the counter. Let armed be the value last stored and c the value
// now: armed - c bytes were allocated since, none of them sampled. An allocation
// of s bytes takes the slow path when s > c: a drawn byte (or the cap
// T - 1 that catches certain objects) lies inside it. s == c fits, is not sampled and leaves 0.
// s == 0, an allocation without bytes, always takes it, because it leaves no sign in the counter:
// it has a trial of its own (docs/internals/estimators.md, section 2.2). Zero-initialised, the
// counter sends the first allocation of a thread to the slow path, where the thread joins the
// recording.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/attributes.h"
#include "runtime/capture/tables/machine.h"
#include "trace/format.h"

namespace geiger::capture {

struct ThreadState;

/// The program's names for the thread's next allocations, as ids (names.h).
struct Naming {
  std::uint32_t label;  ///< 0 = none.
  std::uint32_t type;   ///< Of the current allocation, 0 = not given.
};

/// The current call, if the allocator draws and we call a different function, or request more
/// bytes, than the program did, or the memory is not the program's.
struct Asked {
  const void* frame;  ///< Our frame; null: the program called malloc with the same size.
  std::uint64_t bytes;
  trace::EntryPoint entry_point;
  bool is_own;  ///< For libgeiger.so itself: not a sample.
};

/// Initial-exec, plain data, no destructor: valid in every phase of a thread.
struct ThreadLocal {
  std::uint64_t countdown;
  ThreadState* state;
  /// Top of this thread's stack, 0 if we did not see its start.
  std::uint64_t stack_high;
  /// Frame that asks the allocator for a usable size, null if none: tcmalloc allocates in the first
  /// such call.
  const void* sizing_frame;
  Naming naming;
  Asked asked;
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ThreadLocal tls;

using machine::exhausts;

/// Tries `size` bytes: true when the slow path must decide.
GEIGER_FAST_PATH bool exhausts(std::uint64_t size) { return exhausts(tls.countdown, size); }

/// Swaps the counter atomically with respect to signals.
GEIGER_FAST_PATH std::uint64_t exchange_countdown(std::uint64_t value) {
  return std::atomic_ref(tls.countdown).exchange(value, std::memory_order_relaxed);
}

}  // namespace geiger::capture
