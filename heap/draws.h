// The trials of a heap: its samplers, their interval and their seed.
#pragma once

#include "heap/heap.h"
#include "heap/listener.h"
#include "sampling/counter_sampler.h"

namespace geiger::heap {

/// The settings that all heaps follow.
struct Wanted {
  std::atomic<const Listener*> listener;
  std::atomic<std::uint64_t> interval;
  std::atomic<std::uint64_t> seed;     ///< 0: none yet.
  std::atomic<std::uint64_t> version;  ///< Of the interval.
  std::atomic<std::uint64_t> seeding;  ///< Version of the seed.
};
extern constinit Wanted wanted;

/// Starts a new heap's draws at the current interval.
void begin_draws(Heap& heap);

/// Adopts the settings of listen(). Called at moments that do not depend on draws, or after the
/// decision that a draw led to: the allocation that notices the change is decided by the old draws.
GEIGER_SLOW_PATH void keep_up_slow(Heap& heap);
inline void keep_up(Heap& heap) {
  // Pairs with the release of listen().
  const std::uint64_t version = wanted.version.load(std::memory_order_acquire);
  if (heap.draws_version != version) [[unlikely]]
    keep_up_slow(heap);
}

/// In the child of a fork: redraws, so that the child does not draw the same bytes as the parent.
void draw_afresh(Heap& heap);

/// In a fork's child, by its only thread: sets another seed for all heaps.
void reseed_child(std::uint64_t number_of_child);

/// Decides about an object that is not from a list.
sampling::Verdict decide_directly(Heap& heap, std::size_t size);

/// Null: draws are discarded.
inline const Listener* current_listener() {
  return wanted.listener.load(std::memory_order_acquire);  // Pairs with the release of listen().
}

}  // namespace geiger::heap
