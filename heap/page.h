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
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "heap/classes.h"

namespace geiger::heap {

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

}  // namespace geiger::heap
