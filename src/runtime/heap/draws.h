// The trials of a heap: which bytes are drawn, at which interval, from which seed.
#pragma once

#include "runtime/heap/heap.h"
#include "runtime/heap/listener.h"
#include "sampling/counter_sampler.h"

namespace geiger::heap {

/// What all heaps follow.
struct Wanted {
  std::atomic<const Listener*> listener;
  std::atomic<std::uint64_t> interval;
  std::atomic<std::uint64_t> seed;     ///< 0: none yet.
  std::atomic<std::uint64_t> version;  ///< Of the interval.
  std::atomic<std::uint64_t> seeding;  ///< Version of the seed.
};
extern constinit Wanted wanted;

/// A new heap's first draws, at the interval that is wanted now.
void begin_draws(Heap& heap);

/// Follows listen(). At moments that do not depend on draws, or else after the decision that they
/// led to: what noticed the change was decided by the old draws.
GEIGER_SLOW_PATH void keep_up_slow(Heap& heap);
inline void keep_up(Heap& heap) {
  // Pairs with the release of listen().
  const std::uint64_t version = wanted.version.load(std::memory_order_acquire);
  if (heap.draws_version != version) [[unlikely]]
    keep_up_slow(heap);
}

/// In the child of a fork: no byte is drawn that the parent draws too.
void draw_afresh(Heap& heap);

/// At the fork, by its only thread: another seed for all heaps.
void reseed_child(std::uint64_t number_of_child);

/// Decides about an object that is not taken from a list.
sampling::Verdict decide_directly(Heap& heap, std::size_t size);

/// Null: draws are dropped.
inline const Listener* current_listener() {
  return wanted.listener.load(std::memory_order_acquire);  // Pairs with the release of listen().
}

}  // namespace geiger::heap
