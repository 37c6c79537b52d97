// A lock that sleeps, without libc: it can be reset in the child of a fork, and needs no start.
//
// Threads: all. Signals: a handler must not enter what its thread is inside of. Fork: threads.cc
// takes every lock before that the thread does not hold itself, so that none is held by a thread
// that the child does not have.
// Allocates: never.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>

#include "base/attributes.h"
#include "base/raw_syscall.h"

namespace geiger::heap {

/// Knows who holds it, so that a fork in a handler that interrupted its holder does not wait for
/// itself.
class Lock {
 public:
  void lock() {
    std::uint32_t seen = kFree;
    if (!state_.compare_exchange_strong(seen, own(), std::memory_order_acquire)) [[unlikely]]
      lock_slow(seen);
  }
  void unlock() {
    if ((state_.exchange(kFree, std::memory_order_release) & kAwaited) != 0) [[unlikely]]
      wake_one();
  }
  /// Whether the caller holds it: what it interrupted does.
  [[nodiscard]] bool is_own() const {
    return (state_.load(std::memory_order_relaxed) & ~kAwaited) == own();
  }
  /// In the child of fork, whose only thread holds it.
  void reset() { state_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0, kAwaited = 1;

  /// Of the calling thread: the low half of its thread pointer, which is a multiple of 64 and not
  /// 0, as it lies behind a thread's block. Two threads that have it in common matter to a fork
  /// only.
  static std::uint32_t own() {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()));
  }

  GEIGER_SLOW_PATH void lock_slow(std::uint32_t seen) {
    for (;;) {
      if (seen == kFree) {
        // Others may wait too: whoever frees it next has to wake them.
        if (state_.compare_exchange_weak(seen, own() | kAwaited, std::memory_order_acquire)) return;
        continue;
      }
      const std::uint32_t awaited = seen | kAwaited;
      if (seen != awaited &&
          !state_.compare_exchange_weak(seen, awaited, std::memory_order_relaxed)) {
        continue;
      }
      base::raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, awaited);
      seen = state_.load(std::memory_order_relaxed);
    }
  }
  GEIGER_SLOW_PATH void wake_one() {
    base::raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1);
  }

  std::atomic<std::uint32_t> state_{kFree};
};

class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace geiger::heap
