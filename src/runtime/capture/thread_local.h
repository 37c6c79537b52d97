// What the allocation's fast path touches: one thread-local counter. (That of free
// touches the filter alone: filter.h.)
//
//   allocate(size):  countdown -= size; borrow?   -> slow path   (4 instructions)
//   free(p):         is the filter's slot marked? -> slow path   (6 instructions)
//
// Invariant of the counter. Let armed be the value last stored and c the value
// now: armed - c bytes were allocated since, none of them sampled. An allocation
// of s bytes borrows exactly when s > c, that is when a drawn byte (or the cap
// T - 1 that catches certain objects) lies inside it; s == c fits and is not
// sampled. s == 0 never borrows. Zero-initialised, the counter sends the first
// nonzero allocation of a thread to the slow path, which is how a thread is met.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/attributes.h"

namespace geiger::capture {

struct ThreadState;

/// What the program says of its allocations from here on, as ids of names (names.h).
struct Naming {
  std::uint32_t label;  ///< 0 = none.
  std::uint32_t type;   ///< Of the allocation under way, 0 = not told.
};

/// Initial-exec, plain data, no destructor: valid in every phase of a thread.
struct ThreadLocal {
  std::uint64_t countdown;
  ThreadState* state;
  /// Top of this thread's stack, 0 if its start was not seen by us.
  std::uint64_t stack_high;
  /// Frame that asks the allocator for a usable size, null if none does: tcmalloc
  /// allocates when it is asked first.
  const void* sizing_frame;
  Naming naming;
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ThreadLocal tls;

/// Takes `size` off a counter: true when it borrows. One instruction reads, subtracts and
/// stores, so a signal cannot fall in between.
GEIGER_FAST_PATH bool borrows_from(std::uint64_t& counter, std::uint64_t size) {
#if defined(__x86_64__)
  bool borrow = false;
  asm volatile("subq %2, %0" : "+m"(counter), "=@ccb"(borrow) : "r"(size));
  return borrow;
#else
  const std::uint64_t before = counter;
  counter = before - size;
  return size > before;
#endif
}

/// Puts `size` bytes to trial: true when the slow path must decide.
GEIGER_FAST_PATH bool borrows(std::uint64_t size) { return borrows_from(tls.countdown, size); }

/// Swaps the counter in one instruction (see borrows_from()).
GEIGER_FAST_PATH std::uint64_t exchange_countdown(std::uint64_t value) {
  return std::atomic_ref(tls.countdown).exchange(value, std::memory_order_relaxed);
}

}  // namespace geiger::capture
