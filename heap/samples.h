// Sampled objects: where they are placed, and their records.
//
// A small object that is drawn moves to a page of samples. The block in which it was drawn stays
// taken, as its proxy, until the object is freed. So sampling changes neither the order of blocks
// nor how full pages are. Pages of samples have their own owner word, which the test in every free
// finds.
//
// Larger objects stay in place, and their page has a record. So do objects of a size of which a
// sixteenth or more would be sampled, because their proxies would be a noticeable part of the heap.
// The owner word of a small page with such objects is a mark, and its frees take the slow path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/heap.h"
#include "heap/listener.h"
#include "heap/system.h"
#include "sampling/samplers.h"

namespace geiger::heap {

// The trials of a heap: its samplers, their interval and their seed.

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

/// A record in a queue of its page.
struct SampleInPlace {
  SampleInPlace* next;
  const void* address;
  std::uint64_t number;  ///< The listener's.
};

/// Makes the object at sample.address a sample, if there is a listener. Returns the object's
/// address for the program, and stores it in the sample; does not move the contents. The caller
/// holds no lock, and its heap is consistent.
void* place(Sample& sample);

/// For an object on a page of samples: reports its end to the listener, and returns its proxy.
/// Refuses an address without a live object.
void* end_moved(const Page& page, void* pointer);
/// Frees such an object, and its proxy.
void release_moved(const Page& page, void* pointer);
/// Requires a live object on a page of samples.
void* proxy_of(const Page& page, const void* pointer);
std::size_t moved_usable_size(const Page& page, const void* pointer);

/// An in-place sample that was detached from its page, perhaps temporarily.
struct Detached {
  bool was_sample;
  std::uint64_t number;
};
Detached detach(Page& page, const void* pointer);
void attach_again(Page& page, const void* pointer, const Detached& sample);
void tell_end(const Detached& sample, const void* pointer);

/// Reports the end of the object at `pointer` if it is an in-place sample.
inline void end_in_place(Page& page, const void* pointer) {
  if (page.sampled.load(std::memory_order_relaxed) != nullptr) {
    tell_end(detach(page, pointer), pointer);
  }
}

/// Taken before Segments::lock and after the pool's lock, by AmongSamples, except at a fork.
extern constinit Lock samples_lock;

/// Whether the calling thread holds the lock, or is about to take it. If an entry point finds it
/// set, it runs in a signal handler: its samples have no records, and its frees are deferred.
extern thread_local constinit bool is_among_samples;

/// Holds the lock.
class AmongSamples {
 public:
  AmongSamples() {
    set(true);
    samples_lock.lock();
  }
  ~AmongSamples() {
    samples_lock.unlock();
    set(false);
  }
  AmongSamples(const AmongSamples&) = delete;
  AmongSamples& operator=(const AmongSamples&) = delete;

 private:
  static void set(bool is_inside) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_among_samples = is_inside;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};

/// Defers the free of a block in a handler.
void free_later(void* pointer);
extern constinit std::atomic<Block*> freed_later;
GEIGER_SLOW_PATH void release_what_came_later_slow();
inline void release_what_came_later() {
  if (freed_later.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    release_what_came_later_slow();
}

}  // namespace geiger::heap
