// How geiger's own malloc (docs/internals/heap.md) lies in memory, for those who read it from
// outside: the words that they read, at their places. The allocator asserts that its own
// structures are so.
//
// A change of anything here is another layout, with another number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::vocabulary::heap_layout {

inline constexpr std::uint64_t kMagic[2] = {0x6165'6872'6567'6965, 0x7375'7372'6f6f'7470};
inline constexpr std::uint64_t kNumber = 1;

inline constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kSlotBytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kSlots = kSegmentBytes / kSlotBytes;
inline constexpr std::size_t kClasses = 80;

/// Of a class of blocks: 16 to 128 bytes in steps of 16, then eight for each power of 2.
constexpr std::uint32_t block_bytes(unsigned size_class) {
  const unsigned doubling = size_class < 8 ? 0 : size_class / 8 - 1;
  return (size_class < 8 ? 0U : 128U << doubling) + (16U << doubling) * (size_class % 8 + 1);
}

/// Where everything begins: in the library's read-only data, at a multiple of 16. Addresses of
/// variables.
struct Root {
  std::uint64_t magic[2];
  std::uint64_t number;
  std::uint64_t segments;  ///< Of the first segment's address,
  std::uint64_t heaps;     ///< and of the newest heap's.
  std::uint64_t mapped;    ///< Of counts of bytes, as in heap/segments.h.
  std::uint64_t huge_bytes;
  std::uint64_t huge_mapped;
};

/// The first words of a segment.
struct Segment {
  std::uint64_t owner;
  std::uint64_t empty;  ///< Masks of slots.
  std::uint64_t dirty;
  std::uint64_t available[2];
  std::uint64_t next;
  std::uint64_t previous;
  std::uint32_t purge_due;
  std::uint32_t heaps;
};

/// A slot's header.
struct Page {
  std::uint64_t owner;  ///< A heap or a Mark.
  std::uint64_t local_free;
  std::int32_t needed;
  std::int32_t base;
  std::uint64_t heap;  ///< Of a page of samples: the bytes of a leaf.
  std::uint64_t next;
  std::uint64_t previous;
  std::uint64_t sampled;
  std::uint16_t carved;
  std::uint16_t capacity;
  std::uint8_t size_class;
  std::uint8_t slots;
  std::uint8_t back;
  std::uint8_t state;
};
static_assert(sizeof(Page) == 64 && sizeof(Segment) == 64);

enum Mark : std::uint64_t { kNobody, kMedium, kLarge, kHuge, kSamplesOnly, kHasSamples };

/// The list of a class of a heap; a heap begins with those of all classes.
struct List {
  std::uint64_t head;
  std::int64_t left;
  std::uint64_t skip;
  std::uint64_t reserve;
  std::uint64_t installed;
  std::uint64_t block_size;
};
/// Behind the lists: the pages that the blocks of each list are from.
struct Bin {
  std::uint64_t current;
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t borrowed;
};
/// The rest of a heap that is read, at these places.
inline constexpr std::size_t kOutbox = 0x1980;
inline constexpr std::size_t kArrived = 0x1990;
inline constexpr std::size_t kNextHeap = 0x19d0;
inline constexpr std::size_t kInbox = 0x1a00;

/// A leaf of a page of samples, and its entries.
struct Leaf {
  std::uint64_t next;
  std::uint64_t previous;
  std::uint32_t block_bytes;
  std::uint32_t first_block;
  std::uint32_t first_free;
  std::uint16_t used;
  std::uint16_t size_class;
};
struct Entry {
  std::uint64_t proxy;  ///< The block of the heap that the object was drawn in; 0: free.
  std::uint64_t number;
};
inline constexpr std::size_t kEntries = sizeof(Leaf);

}  // namespace geiger::vocabulary::heap_layout
