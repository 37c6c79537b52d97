// Sampled objects: where they are, and what is kept of them.
//
// A small object that is drawn moves to a page of samples. The block that it was drawn in stays
// taken, as its proxy, until the object is freed: so blocks are handed out in the same order and
// pages are as full, whatever is sampled. Pages of samples have an owner word of their own, and the
// test that free makes of every address finds them.
//
// Larger objects stay where they are, and a record hangs at their page. So do objects of which a
// sixteenth or more would be sampled, as their proxies would be a noticeable part of the heap. The
// owner word of a small page with such objects is a mark, and its frees take the slow path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/heap/heap.h"
#include "runtime/heap/listener.h"
#include "runtime/heap/lock.h"
#include "runtime/heap/page.h"

namespace geiger::heap {

/// A record in a queue of its page.
struct SampleInPlace {
  SampleInPlace* next;
  const void* address;
  std::uint64_t number;  ///< The listener's.
};

/// Makes the object at sample.address a sample, if there is a listener, and returns where the
/// program gets it, which becomes the address. Its contents stay where they were. Requires that no
/// lock is held and the heap is consistent.
void* place(Sample& sample);

/// For an object on a page of samples: tells the listener that it ends, and returns its proxy.
/// Refuses an address where none is live.
void* end_moved(const Page& page, void* pointer);
/// Frees such an object, and its proxy.
void release_moved(const Page& page, void* pointer);
/// Requires a live object on a page of samples.
void* proxy_of(const Page& page, const void* pointer);
std::size_t moved_usable_size(const Page& page, const void* pointer);

/// An in-place sample that was taken from its page, perhaps for a while.
struct Detached {
  bool was_sample;
  std::uint64_t number;
};
Detached detach(Page& page, const void* pointer);
void attach_again(Page& page, const void* pointer, const Detached& sample);
void tell_end(const Detached& sample, const void* pointer);

/// Tells the listener if the object at `pointer` is a sample where it is.
inline void end_in_place(Page& page, const void* pointer) {
  if (page.sampled.load(std::memory_order_relaxed) != nullptr) {
    tell_end(detach(page, pointer), pointer);
  }
}

/// Before Segments::lock, after the pool's. Taken by AmongSamples, except at a fork.
extern constinit Lock samples_lock;

/// Whether the calling thread holds the lock, or is about to: then this is a signal handler, and
/// for what it allocates nothing is drawn, and what it frees is freed later.
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

/// Keeps a block that a handler may not free now.
void free_later(void* pointer);
extern constinit std::atomic<Block*> freed_later;
GEIGER_SLOW_PATH void release_what_came_later_slow();
inline void release_what_came_later() {
  if (freed_later.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    release_what_came_later_slow();
}

}  // namespace geiger::heap
