// What the allocation's fast path touches: one thread-local counter. (That of free
// touches the filter alone: filter.h.)
//
//   allocate(size):  countdown -= size; below 1?  -> slow path   (4 instructions on x86-64)
//   free(p):         is the filter's slot marked? -> slow path   (6)
//
// Invariant of the counter. Let armed be the value last stored and c the value
// now: armed - c bytes were allocated since, none of them sampled. An allocation
// of s bytes takes the slow path when s >= c. s > c: a drawn byte (or the cap
// T - 1 that catches certain objects) lies inside it. s == c fits and is not
// sampled, but leaves 0, which the slow path would have stored anyway; it is asked
// for the sake of s == 0, an allocation without bytes, which is a sample when the
// next byte is the drawn one (docs/estimators.md, section 2.2). Zero-initialised,
// the counter sends the first allocation of a thread to the slow path, which is how
// a thread is met.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/attributes.h"
#include "runtime/capture/tables/machine.h"
#include "trace/format.h"

namespace geiger::capture {

struct ThreadState;

/// The names that the program gave its allocations from here on, as ids (names.h).
struct Naming {
  std::uint32_t label;  ///< 0 = none.
  std::uint32_t type;   ///< Of the allocation under way, 0 = not told.
};

/// The call under way, where the allocator draws and is asked by another name, or for more, than
/// the program asked us.
struct Asked {
  const void* frame;  ///< Of ours; null: the program called malloc, for as much as that was told.
  std::uint64_t bytes;
  trace::EntryPoint entry_point;
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
  Asked asked;
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ThreadLocal tls;

using machine::exhausts;

/// Tries `size` bytes: true when the slow path must decide.
GEIGER_FAST_PATH bool exhausts(std::uint64_t size) { return exhausts(tls.countdown, size); }

/// Swaps the counter; no signal falls in between.
GEIGER_FAST_PATH std::uint64_t exchange_countdown(std::uint64_t value) {
  return std::atomic_ref(tls.countdown).exchange(value, std::memory_order_relaxed);
}

}  // namespace geiger::capture
