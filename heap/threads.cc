#include "heap/threads.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "heap/pages.h"
#include "heap/samples.h"
#include "heap/segments.h"
#include "heap/system.h"

namespace geiger::heap {

// Its lists are below 0 and stay there.
constinit Heap no_heap{.lists = [] {
  std::array<List, kClasses> lists{};
  for (List& list : lists) list.left = List::kNoHeap;
  return lists;
}()};

thread_local constinit Heap* this_heap = &no_heap;
constinit std::atomic<Heap*> newest_heap{nullptr};

namespace {

// If the inbox of a heap without a thread exceeds this, the next thread that frees into it drains
// it.
constexpr std::size_t kIdleBytes = std::size_t{64} << 10;

// Most blocks and bytes that a thread may hold back before sending them to another one's heap.
constexpr std::uint32_t kOutboxBlocks = 32;
constexpr std::uint32_t kOutboxBytes = 4096;

/// The pool of idle heaps, and data that all heaps share. Zero-initialised is valid.
struct Pool {
  Lock lock;
  Heap* idle;
  std::uint64_t heaps;  ///< Created so far.
  std::atomic<std::uint64_t> forks;
  std::uint64_t children;  ///< Forks of this process.
  std::atomic<bool> is_prepared;
  bool took_for_fork[3];  ///< Locks taken by the current fork. Used by the thread that forks.
  std::atomic<bool> has_key;
  pthread_key_t key;
};
constinit Pool pool{};

Heap* new_heap() {
  void* const memory = segments.take_forever(sizeof(Heap));
  if (memory == nullptr) return nullptr;
  auto* const heap = new (memory) Heap{};
  const Locked locked(pool.lock);
  heap->number = pool.heaps++;
  begin_draws(*heap);
  heap->forks = pool.forks.load(std::memory_order_relaxed);
  heap->next = newest_heap.load(std::memory_order_relaxed);
  newest_heap.store(heap, std::memory_order_release);  // Pairs with all_heaps().
  return heap;
}

/// Takes a heap out of the pool: `wanted`, or, if null, the last one added. Null if not there.
Heap* take_idle(Heap* wanted) {
  const Locked locked(pool.lock);
  Heap** link = &pool.idle;
  while (*link != nullptr && wanted != nullptr && *link != wanted) link = &(*link)->next_idle;
  Heap* const heap = *link;
  if (heap == nullptr) return nullptr;
  *link = heap->next_idle;
  heap->is_idle.store(false, std::memory_order_relaxed);
  return heap;
}

void put_idle(Heap& heap) {
  const Locked locked(pool.lock);
  heap.idle_bytes.store(0, std::memory_order_relaxed);
  heap.is_idle.store(true, std::memory_order_relaxed);
  heap.next_idle = pool.idle;
  pool.idle = &heap;
}

/// Repairs a heap that a thread left, perhaps because it does not exist in this child process.
void make_sure(Heap& heap) {
  if (heap.forks == forks()) return;
  recount(heap);
  draw_afresh(heap);
  heap.forks = forks();
}

/// Takes back blocks that others freed, and gives back empty pages.
void tidy(Heap& heap) {
  const Busy busy(heap);
  drain_inbox(heap);
  give_empty_pages(heap);
}

/// Pushes a chain of blocks with `bytes` in total.
void push_to_inbox(Heap& heap, Block* first, std::size_t bytes) {
  Block* last = first;
  while (last->next != nullptr) last = last->next;
  Block* newest = heap.inbox.load(std::memory_order_relaxed);
  do {
    last->next = newest;
  } while (!heap.inbox.compare_exchange_weak(newest, first, std::memory_order_release,
                                             std::memory_order_relaxed));
  if (!heap.is_idle.load(std::memory_order_relaxed)) return;
  if (heap.idle_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes < kIdleBytes) return;
  if (take_idle(&heap) == nullptr) return;
  make_sure(heap);
  tidy(heap);
  put_idle(heap);
}

void end_thread(void* value) {
  Heap* const heap = this_heap;
  if (value != heap || heap == &no_heap) return;
  send_outbox(*heap);
  tidy(*heap);
  this_heap = &no_heap;
  put_idle(*heap);
}

/// In the order in which they are taken.
Lock* const kLocks[] = {&pool.lock, &samples_lock, &segments.lock};

/// A handler may fork while its thread holds one: that lock stays held, and its holder continues.
void before_fork() {
  bool took[std::size(kLocks)];
  for (std::size_t i = 0; i < std::size(kLocks); ++i) {
    took[i] = !kLocks[i]->is_own();
    if (took[i]) kLocks[i]->lock();
  }
  // Only now: until here another thread may have been reading these after its own fork.
  std::copy(std::begin(took), std::end(took), pool.took_for_fork);
  ++pool.children;
}

void after_fork_in_parent() {
  bool took[std::size(kLocks)];
  std::copy(std::begin(pool.took_for_fork), std::end(pool.took_for_fork), took);
  for (std::size_t i = std::size(kLocks); i-- > 0;) {
    if (took[i]) kLocks[i]->unlock();
  }
}

/// Puts all heaps into the pool, except the caller's and inconsistent ones.
void after_fork_in_child() {
  for (Lock* const lock : kLocks) lock->reset();
  pool.forks.fetch_add(1, std::memory_order_relaxed);
  reseed_child(pool.children);
  pool.children = 0;
  pool.idle = nullptr;
  if (this_heap != &no_heap) {
    draw_afresh(*this_heap);
    this_heap->forks = forks();
  }
  for (Heap* heap = all_heaps(); heap != nullptr; heap = heap->next) {
    if (heap == this_heap || heap->is_busy.load(std::memory_order_relaxed)) continue;
    put_idle(*heap);
  }
}

}  // namespace

void prepare_process() {
  if (pool.is_prepared.exchange(true, std::memory_order_relaxed)) return;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  pool.has_key.store(pthread_key_create(&pool.key, end_thread) == 0, std::memory_order_release);
}

Heap* begin_thread() {
  Heap* heap = take_idle(nullptr);
  if (heap == nullptr) heap = new_heap();
  if (heap == nullptr) return nullptr;
  make_sure(*heap);
  this_heap = heap;
  prepare_process();
  // Without a key the heap of an ended thread is never adopted.
  if (pool.has_key.load(std::memory_order_acquire)) pthread_setspecific(pool.key, heap);
  return heap;
}

void free_remote(Heap& heap, Block* block, std::size_t bytes) {
  block->next = nullptr;
  Heap* const own = this_heap;
  if (own == &no_heap) return push_to_inbox(heap, block, bytes);
  Outbox& outbox = own->outbox;
  if (outbox.to != &heap) {
    send_outbox(*own);
    outbox.to = &heap;
  }
  block->next = outbox.first;
  outbox.first = block;
  outbox.bytes += static_cast<std::uint32_t>(bytes);
  if (++outbox.count == kOutboxBlocks || outbox.bytes >= kOutboxBytes) send_outbox(*own);
}

void send_outbox(Heap& heap) {
  const Outbox sent = heap.outbox;
  if (sent.first == nullptr) return;
  heap.outbox = {sent.to, nullptr, 0, 0};
  push_to_inbox(*sent.to, sent.first, sent.bytes);
}

std::uint64_t forks() { return pool.forks.load(std::memory_order_relaxed); }

// Pairs with the release of new_heap().
Heap* all_heaps() { return newest_heap.load(std::memory_order_acquire); }

}  // namespace geiger::heap
