// A queue of free slots, first in, first out: a ring whose places have turn counters.
//
//   place i of turn t:   turn == 2 t        empty, to be filled by the t-th push that comes here
//                        turn == 2 t + 1    full, to be emptied by the t-th pop
//
// Threads / Signals: lock-free. If a thread never returns from the middle of a push or pop, the
// queue stops at its place and looks empty, or full. Fork: the child keeps its copy. Allocates:
// never.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace geiger::guard {

/// Empty when zero-initialised. `kPlaces`: a power of two.
template <std::size_t kPlaces>
class Queue {
  static_assert((kPlaces & (kPlaces - 1)) == 0);

 public:
  /// False: full.
  bool push(std::uint32_t value) {
    std::uint64_t at = pushed_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kPlaces];
      const std::uint64_t turn = at / kPlaces * 2;
      const std::uint64_t seen = place.turn.load(std::memory_order_acquire);
      if (seen < turn) return false;
      if (seen == turn && pushed_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        place.value = value;
        place.turn.store(turn + 1, std::memory_order_release);
        return true;
      }
      if (seen > turn) at = pushed_.load(std::memory_order_relaxed);
    }
  }

  /// False: empty.
  bool pop(std::uint32_t& value) {
    std::uint64_t at = popped_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at % kPlaces];
      const std::uint64_t turn = at / kPlaces * 2 + 1;
      const std::uint64_t seen = place.turn.load(std::memory_order_acquire);
      if (seen < turn) return false;
      if (seen == turn && popped_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        value = place.value;
        place.turn.store(turn + 1, std::memory_order_release);
        return true;
      }
      if (seen > turn) at = popped_.load(std::memory_order_relaxed);
    }
  }

 private:
  struct Place {
    std::atomic<std::uint64_t> turn{0};
    std::uint32_t value = 0;
  };
  Place places_[kPlaces]{};
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<std::uint64_t> popped_{0};
};

}  // namespace geiger::guard
