// A lock that sleeps, without libc: it can be reset in the child of a fork, and needs no start.
//
// Threads: all. Signals: a handler must not enter what its thread is inside of. Fork: threads.cc
// takes every lock before, so that none is held by a thread that the child does not have.
// Allocates: never.
#pragma once

#include <linux/futex.h>

#include <atomic>

#include "base/raw_syscall.h"

namespace geiger::heap {

class Lock {
 public:
  void lock() {
    int seen = kFree;
    if (state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) [[likely]]
      return;
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      base::raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAIT_PRIVATE, kAwaited);
    }
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) {
      base::raw_syscall(SYS_futex, reinterpret_cast<long>(&state_), FUTEX_WAKE_PRIVATE, 1);
    }
  }
  /// In the child of fork, whose only thread holds it.
  void reset() { state_.store(kFree, std::memory_order_relaxed); }

 private:
  enum : int { kFree, kHeld, kAwaited };
  std::atomic<int> state_{kFree};
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
