// What the fast paths touch: one thread-local counter and one byte filter.
//
//   allocate(size):  countdown -= size; borrow?  -> slow path   (4 instructions)
//   free(p):         filter[p / 16 mod 2^19] != 0? -> slow path (7 instructions)
//
// Invariant of the counter. Let armed be the value last stored and c the value
// now: armed - c bytes were allocated since, none of them sampled. An allocation
// of s bytes borrows exactly when s > c, that is when a drawn byte (or the cap
// T - 1 that catches certain objects) lies inside it; s == c fits and is not
// sampled. s == 0 never borrows. Zero-initialised, the counter sends the first
// nonzero allocation of a thread to the slow path, which is how a thread is met.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"

namespace geiger::capture {

struct ThreadState;

/// Initial-exec, plain data, no destructor: valid in every phase of a thread.
struct ThreadLocal {
  std::uint64_t countdown;
  ThreadState* state;
  /// Top of this thread's stack, 0 if its start was not seen by us.
  std::uint64_t stack_high;
  /// Frame that asks the allocator for a usable size, null if none does: tcmalloc
  /// allocates when it is asked first.
  const void* sizing_frame;
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ThreadLocal tls;

/// Puts `size` bytes to trial: true when the slow path must decide. One
/// instruction reads, subtracts and stores, so a signal cannot fall in between.
GEIGER_FAST_PATH bool borrows(std::uint64_t size) {
#if defined(__x86_64__)
  bool borrow = false;
  asm volatile("subq %2, %0" : "+m"(tls.countdown), "=@ccb"(borrow) : "r"(size));
  return borrow;
#else
  const std::uint64_t before = tls.countdown;
  tls.countdown = before - size;
  return size > before;
#endif
}

/// Swaps the counter in one instruction (see borrows()).
GEIGER_FAST_PATH std::uint64_t exchange_countdown(std::uint64_t value) {
  return std::atomic_ref(tls.countdown).exchange(value, std::memory_order_relaxed);
}

/// Says of any address whether it may be a live sample. A byte counts the live
/// samples whose address falls on it; at 255 it stays. Large enough that 4,000
/// live samples send some 1.5 % of the other frees to the slow path, small enough to
/// stay near the caches (at twice the size free took a quarter longer in git); pages
/// of it are touched only where samples live.
inline constexpr std::size_t kFilterBytes = std::size_t{1} << 18;
[[gnu::visibility("hidden")]] extern std::atomic<std::uint8_t> filter[kFilterBytes];

GEIGER_FAST_PATH std::size_t filter_slot(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) >> 4 & (kFilterBytes - 1);
}

/// The pointer reached this thread after its insertion, so a relaxed load sees it.
/// Written out because the compiler does not fold an atomic load into a compare.
GEIGER_FAST_PATH bool maybe_sampled(const void* pointer) {
#if defined(__x86_64__)
  bool is_set = false;
  asm("cmpb $0, %1" : "=@ccne"(is_set) : "m"(filter[filter_slot(pointer)]));
  return is_set;
#else
  return filter[filter_slot(pointer)].load(std::memory_order_relaxed) != 0;
#endif
}

}  // namespace geiger::capture
