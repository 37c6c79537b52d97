// A heap: the lists of free blocks of one thread, and the pages that they come from.
//
// A heap outlives its thread. It goes to a pool unchanged, including its trials, and the next
// thread without a heap adopts it. Heaps are never destroyed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "heap/classes.h"
#include "heap/page.h"
#include "sampling/list_sampler.h"

namespace geiger::heap {

/// The list of free blocks of one class that malloc hands out, counted: list_sampler.h has its
/// invariants. It ends in a null pointer, which only recount() reads.
using List = sampling::SampledList;

/// The pages of one class that have free blocks.
struct Bin {
  Page* current;  ///< Its blocks are on the list.
  Page* first;    ///< Of the partial pages; usually the fullest, as others may become empty.
  Page* last;
  std::uint32_t borrowed;  ///< Requests served by class_to_borrow_from() so far.

  void push(Page& page);
  void remove(Page& page);
};

/// Blocks of another heap that this heap's thread freed and has not sent yet, so that many blocks
/// need only one atomic operation on a contended word.
struct Outbox {
  Heap* to = nullptr;
  Block* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t bytes = 0;
};

/// Threads: one thread at a time owns it: the one whose `this_heap` it is, or, for a heap from the
/// pool, the one that took it out under the pool's lock. Others push to `inbox`. Signals: a handler
/// must not enter while its thread is inside. Fork: heaps of other threads may be inconsistent in
/// the child; see threads.h. Allocates: it is the allocator.
struct alignas(64) Heap {
  std::array<List, kClasses>
      lists{};  ///< First: the fast path finds a list by its offset in the heap.
  Bin bins[kClasses]{};
  sampling::ListSampler sampler{};
  sampling::CounterSampler direct{};  ///< Tries objects that are not from a list.

  Outbox outbox{};
  Block* arrived = nullptr;         ///< Taken from the inbox, not yet returned to their pages.
  std::uint64_t draws_version = 0;  ///< Settings of draws.cc that the heap has adopted,
  std::uint64_t seeding = 0;        ///< and which seed.
  std::uint64_t refills = 0;        ///< Of lists, of all classes.

  /// The thread is in a slow path, and the heap may be inconsistent. Only read at fork.
  std::atomic<bool> is_busy{false};
  std::uint64_t number = 0;   ///< Among all heaps, from 0.
  std::uint64_t forks = 0;    ///< The value of forks() when the heap was last checked.
  Heap* next_idle = nullptr;  ///< In the pool.
  Heap* next = nullptr;       ///< Among all heaps.

  /// Blocks that other threads freed. On a cache line that the owner does not write.
  alignas(64) std::atomic<Block*> inbox{nullptr};
  std::atomic<bool> is_idle{false};        ///< In the pool.
  std::atomic<std::size_t> idle_bytes{0};  ///< Pushed to the inbox since it became idle.

  [[nodiscard]] List& list_at(std::size_t offset) {
    return *reinterpret_cast<List*>(reinterpret_cast<std::byte*>(this) + offset);
  }
  [[nodiscard]] std::uintptr_t as_owner() const { return reinterpret_cast<std::uintptr_t>(this); }
};

/// The heap of threads that have none yet. Its lists never hand out a block, however many threads
/// decrement their counts at once.
extern constinit Heap no_heap;

/// Never null.
extern thread_local constinit Heap* this_heap;

/// During its lifetime, a fork in another thread treats the heap as inconsistent.
class Busy {
 public:
  explicit Busy(Heap& heap) : heap_(heap), was_busy_(heap.is_busy.load(std::memory_order_relaxed)) {
    set(true);
  }
  ~Busy() { set(was_busy_); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  // The compiler must not move changes of the heap out of the bracket. The processor's order does
  // not matter: fork copies memory after all threads' stores have reached it.
  void set(bool is_busy) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    heap_.is_busy.store(is_busy, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  Heap& heap_;
  const bool was_busy_;
};

}  // namespace geiger::heap
