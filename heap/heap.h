// Size classes, segments, pages and blocks, and a heap: the lists of free blocks of one thread.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "sampling/samplers.h"
#include "vocabulary/heap_layout.h"

namespace geiger::heap {

// Size classes: the block sizes, and the class that serves a request.
//
// 16 to 128 bytes in steps of 16, then eight classes for each power of 2, so that a block is at
// most 12.5 % larger than the request (or 15 bytes). Each block size is a multiple of 16, and
// each power of 2 up to 64 KiB is a class: its blocks are aligned to their size.
//
// Threads / Signals / Fork: constants. Allocates: never.

inline constexpr std::size_t kSlotBytes = std::size_t{64} << 10;
inline constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;
inline constexpr std::size_t kSlots = kSegmentBytes / kSlotBytes;
inline constexpr std::size_t kSystemPage = 4096;

inline constexpr std::size_t kSmallestBlock = 16;
inline constexpr unsigned kSmallClasses = 56;   ///< To 8 KiB, in pages of one slot.
inline constexpr unsigned kMediumClasses = 24;  ///< To 64 KiB, in pages of kMediumSlots.
inline constexpr unsigned kClasses = kSmallClasses + kMediumClasses;
inline constexpr unsigned kMediumSlots = 8;
inline constexpr std::size_t kLargestSmall = std::size_t{8} << 10;
inline constexpr std::size_t kLargestMedium = std::size_t{64} << 10;
inline constexpr std::size_t kLargestRun = std::size_t{2} << 20;  ///< Larger ones: huge.

inline constexpr auto kBlockSizes = [] {
  std::array<std::uint32_t, kClasses> sizes{};
  for (unsigned i = 0; i < kClasses; ++i) sizes[i] = vocabulary::heap_layout::block_bytes(i);
  return sizes;
}();

constexpr std::size_t block_size(unsigned size_class) { return kBlockSizes[size_class]; }

/// The class of the smallest blocks for `size` <= kLargestMedium bytes; 0 counts as 1.
constexpr unsigned class_of(std::size_t size) {
  const std::size_t last = size == 0 ? 0 : size - 1;
  if (last < 128) return static_cast<unsigned>(last / kSmallestBlock);
  const unsigned doubling = static_cast<unsigned>(std::bit_width(last)) - 8;
  return 8 + 8 * doubling + (static_cast<unsigned>(last >> (4 + doubling)) & 7);
}

/// The class of the smallest blocks for `size` bytes aligned to `alignment`, a power of 2; both at
/// most kLargestMedium. Blocks start at multiples of their size from a slot's start.
constexpr unsigned class_of_aligned(std::size_t size, std::size_t alignment) {
  unsigned size_class = class_of(size);
  while (block_size(size_class) % alignment != 0) ++size_class;
  return size_class;
}

/// The class that serves the first requests of a class in a heap: the next power of 2 from 64 bytes
/// on. So a thread with a few blocks of many sizes touches a few pages, not one for each size.
/// Large blocks would not benefit.
constexpr unsigned class_to_borrow_from(unsigned size_class) {
  constexpr std::size_t kSmallest = 64;
  constexpr std::size_t kLargest = 1024;
  const std::size_t size = block_size(size_class);
  if (size > kLargest) return size_class;
  return class_of(size <= kSmallest ? kSmallest : std::bit_ceil(size));
}

constexpr unsigned slots_of_page(unsigned size_class) {
  return size_class < kSmallClasses ? 1 : kMediumSlots;
}

constexpr unsigned blocks_of_page(unsigned size_class) {
  return static_cast<unsigned>(slots_of_page(size_class) * kSlotBytes / block_size(size_class));
}

static_assert(block_size(kSmallClasses - 1) == kLargestSmall);
static_assert(block_size(kClasses - 1) == kLargestMedium);

// Segments, pages and blocks: the layout of memory, and the header of a page.
//
//   segment   4 MiB, aligned: 64 slots of 64 KiB. Slot 0 holds the headers of all slots, 64 bytes
//             each, side by side; the rest of it holds heaps.
//   page      one slot with blocks of one small class, or eight slots of one medium class
//   run       1 to 32 slots for one large object
//   huge      a mapping of its own, from a segment boundary: the header, then one object
//
// The header of an address is found by arithmetic alone. Headers are side by side, not at the start
// of their pages, because headers at equal offsets of many pages fall into one cache set.

struct Heap;
struct Block;
struct SampleInPlace;

/// A free block, in a list.
struct Block {
  Block* next;
};

/// The owner of a page is a heap, whose thread frees its blocks on the fast path, or one of these,
/// which never equal a heap: then every free takes the slow path.
enum Mark : std::uintptr_t {
  kNobody = 0,  ///< No object begins here: free() refuses the address.
  kMedium,
  kLarge,
  kHuge,
  kSamplesOnly,  ///< Small objects that were sampled; samples.h.
  kHasSamples,   ///< A small page with samples in place.
};

/// The page's state in its heap.
enum class PageState : std::uint8_t {
  kCurrent,  ///< Its blocks are on the list of its class.
  kPartial,  ///< In the queue of its class: at least an eighth of its blocks is free.
  kSpare,    ///< Like kPartial, but empty for a while: given back next.
  kFull,     ///< In no queue. Becomes kPartial when an eighth is free.
};

/// Invariants of a page of small or medium blocks:
///
///   free blocks = base - needed        those in local_free; blocks on the heap's list are not
///   needed > 0                         frees until the next event, page_event(); 0 in an empty
///                                      page, of which there is nothing to expect
///   not current  =>  carved == capacity
///   free blocks + used + on the heap's list + in inboxes == carved
///
/// Threads: written by the thread of its heap; `owner` is read by all, `sampled` is changed under
/// the lock of samples. Zero-initialised is valid: nothing here.
struct alignas(64) Page {
  // Used by a free on the fast path.
  std::atomic<std::uintptr_t> owner;  ///< A heap or a Mark.
  Block* local_free;
  std::int32_t needed;

  std::int32_t base;
  union {
    Heap* heap;                 ///< The heap of the page, even if marked; null: none.
    std::size_t bytes_of_leaf;  ///< Of a page of samples: size of its leaves.
  };
  union {
    Page* next;         ///< In the queue of partial pages.
    std::size_t bytes;  ///< Of a large or huge object: usable.
  };
  union {
    Page* previous;
    std::size_t segments;  ///< Of a huge object: its mapping.
  };
  std::atomic<SampleInPlace*> sampled;  ///< Samples among the objects of this page.
  union {
    std::uint16_t carved;       ///< Blocks that exist; the rest was never touched.
    std::uint16_t used_leaves;  ///< Of a page of samples: mask of its used 4 KiB leaves.
  };
  std::uint16_t capacity;
  std::uint8_t size_class;
  std::uint8_t slots;
  std::uint8_t back;  ///< In a medium page: slots back to its first one.
  PageState state;

  [[nodiscard]] std::uint32_t free_blocks() const {
    return static_cast<std::uint32_t>(base - needed);
  }
  /// A target that is never reached: the current page is checked when its list is used up.
  static constexpr std::uint32_t kNoEvent = 1 << 30;

  /// Keeps the number of free blocks; the event occurs when there are `target`.
  void expect(std::uint32_t target) {
    needed = static_cast<std::int32_t>(target - free_blocks());
    base = static_cast<std::int32_t>(target);
  }
};
static_assert(sizeof(Page) == 64);

/// The header of the object at `pointer`. An object at a segment boundary, possible only with
/// alignments of 4 MiB and more, has its header in the previous segment: hence the - 1.
GEIGER_FAST_PATH Page* page_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t segment = (address - 1) & ~(kSegmentBytes - 1);
  return reinterpret_cast<Page*>(segment + (address / kSlotBytes % kSlots) * sizeof(Page));
}

/// The first byte of the slot of a header.
inline std::byte* slot_of(const Page* page) {
  const auto address = reinterpret_cast<std::uintptr_t>(page);
  const std::uintptr_t segment = address & ~(kSegmentBytes - 1);
  return reinterpret_cast<std::byte*>(segment + (address - segment) / sizeof(Page) * kSlotBytes);
}

/// A page of small or medium blocks, by the header of any of its slots.
inline Page* first_slot(Page* page) { return page - page->back; }

// A heap: the lists of free blocks of one thread, and the pages that they come from.
//
// A heap outlives its thread. It goes to a pool unchanged, including its trials, and the next
// thread without a heap adopts it. Heaps are never destroyed.

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
  std::uint64_t draws_version = 0;  ///< Settings of samples.cc that the heap has adopted,
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
