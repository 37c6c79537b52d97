// The allocator's system calls. Not through libc: the program, or geiger's own runtime, may have
// replaced its mmap to count the program's mappings.
//
// Threads / Signals / Fork: safe. errno is preserved. Allocates: never.
#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/raw_syscall.h"

namespace geiger::heap::system {

/// New zeroed memory at a segment boundary; the address `offset` bytes later is a multiple of
/// `alignment`, a power of 2. Null without memory. `bytes` is a multiple of 4 MiB.
void* map(std::size_t bytes, std::size_t alignment, std::size_t offset);
void unmap(void* memory, std::size_t bytes);

/// Gives back the memory of whole pages, which then read as zero. False: failed.
bool discard(void* memory, std::size_t bytes);

/// Forbids huge pages there, whatever the system's setting: one would make 2 MiB resident for a few
/// blocks.
void keep_pages_small(void* memory, std::size_t bytes);

/// Moves the pages at `from` to `to`, without copying; both are mapped, and `from` then reads as
/// zero. False: nothing changed (kernels before 5.7).
bool move_pages(void* from, std::size_t bytes, void* to);

std::uint64_t milliseconds();
std::uint64_t random_seed();

/// Writes "geiger-malloc: FUNCTION: ADDRESS is not a live block" and aborts.
[[noreturn, gnu::cold]] void refuse(const char* function, const void* address);

}  // namespace geiger::heap::system

namespace geiger::heap {

// A sleeping lock without libc: it can be reset in the child of a fork, and needs no
// initialisation.
//
// Threads: all. Signals: a handler must not take a lock that its thread holds. Fork: threads.cc
// first takes every lock that the thread does not already hold, so that no thread missing in the
// child holds one.
// Allocates: never.

/// Records its holder, so that a fork in a handler that interrupted the holder does not deadlock.
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
  /// Whether the calling thread holds it, in code that the caller interrupted.
  [[nodiscard]] bool is_own() const {
    return (state_.load(std::memory_order_relaxed) & ~kAwaited) == own();
  }
  /// In the child of fork, whose only thread holds it.
  void reset() { state_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0, kAwaited = 1;

  /// Identifies the calling thread: the low half of its thread pointer, a multiple of 64 and not 0,
  /// because it points to the end of a thread's block. If two threads share it, only a fork is
  /// affected.
  static std::uint32_t own() {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()));
  }

  GEIGER_SLOW_PATH void lock_slow(std::uint32_t seen) {
    for (;;) {
      if (seen == kFree) {
        // Others may be waiting too: the next unlock() must wake them.
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
