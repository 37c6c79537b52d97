// Segments and their slots, and the mappings of huge objects: the source of pages' memory.
//
// Free slots stay dirty (with their old contents) for kDecayMilliseconds, as they may be reused
// soon; then they are given back to the system, and segments without a used slot are unmapped. So
// are mappings of huge objects: freed ones are kept mapped and may be split and joined for others.
// There is no background thread: each call that takes or gives back memory checks the clock.
//
// Threads: all, under one lock; has_header() without. Fork: see threads.h. Allocates: never from
// heaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/heap.h"
#include "heap/system.h"

namespace geiger::heap {

inline constexpr std::uint64_t kDecayMilliseconds = 100;

/// The header of slot 0, which is never a page. Bit i of the masks is slot i.
///
///   dirty is a part of empty; purge_due != 0  =>  dirty != 0 (not the reverse: see purge())
struct alignas(64) Segment {
  std::atomic<std::uintptr_t> owner;  ///< Like in Page: kNobody.
  std::uint64_t empty;                ///< Unused slots.
  std::uint64_t dirty;                ///< Unused slots not known to be zero.
  Segment* next_available;            ///< Among segments with an empty slot.
  Segment* previous_available;
  Segment* next;  ///< Among all.
  Segment* previous;
  std::uint32_t purge_due;  ///< Of its oldest dirty empty slot, low bits of milliseconds; 0: none.
  std::uint32_t heaps;      ///< In slot 0. Heaps are never unmapped.
};
static_assert(sizeof(Segment) == sizeof(Page));

inline constexpr std::uint64_t kAllSlots = ~std::uint64_t{1};  ///< Except slot 0.

/// A mapping of whole segments, and whether its contents are zero.
struct Mapping {
  std::byte* start;
  bool is_zero;
};

class Segments {
 public:
  /// `count` adjacent slots, the first one aligned to `alignment` bytes <= 2 MiB. Sets `slots` of
  /// the first header, and owners to kNobody. Null: no memory.
  Page* take_slots(unsigned count, std::size_t alignment, bool* is_zero);
  /// Their owners become kNobody. Requires a first header as take_slots() set it.
  void give_slots(Page& first);

  /// Makes a run longer or shorter in place. False: the slots after it are used.
  bool resize_run(Page& first, unsigned count);

  /// Whole segments; the address `offset` bytes after the start is a multiple of `alignment`.
  Mapping take_mapping(std::size_t segments, std::size_t alignment, std::size_t offset);
  void give_mapping(std::byte* start, std::size_t segments);

  /// Zeroed memory for heaps, never freed; `bytes` is a multiple of 64 and less than a slot.
  void* take_forever(std::size_t bytes);

  /// Whether an object may begin at the address: its header exists.
  [[nodiscard]] bool has_header(const void* pointer) const {
    const std::size_t number = (reinterpret_cast<std::uintptr_t>(pointer) - 1) / kSegmentBytes;
    if (number / 64 >= kHeaderWords) return false;
    // The bit of a live object's segment is set for longer than the object lives.
    auto& word = const_cast<std::uint64_t&>(headers_[number / 64]);
    const std::uint64_t bits = std::atomic_ref(word).load(std::memory_order_relaxed);
    return (bits >> number % 64 & 1) != 0;
  }

  /// Gives back every dirty slot and cached mapping. True if there was any.
  bool purge_all();

  /// Calls visit(Segment&) for each. Under the lock.
  template <typename Visit>
  void for_each_segment(const Visit& visit) {
    for (Segment* segment = all_; segment != nullptr; segment = segment->next) visit(*segment);
  }

  [[nodiscard]] std::size_t mapped() const { return mapped_; }  ///< Bytes, under the lock.
  [[nodiscard]] std::size_t cached() const;                     ///< Bytes of cached mappings.

  /// Entry points for readers from outside.
  [[nodiscard]] constexpr const void* address_of_first() const { return &all_; }
  [[nodiscard]] constexpr const void* address_of_mapped() const { return &mapped_; }

  Lock lock;
  /// Whether free memory stays until malloc_trim() or a lack of memory; no system calls until then.
  std::atomic<bool> keeps_memory;
  std::atomic<std::size_t> huge_bytes;   ///< Of huge objects,
  std::atomic<std::size_t> huge_mapped;  ///< and of their mappings.

 private:
  /// A cached mapping, in its own first bytes. Sorted by address; no two are adjacent.
  struct Cached {
    Cached* next;
    std::size_t segments;
    std::uint64_t due;
  };

  Segment* add_segment();
  void use(Segment& segment, std::uint64_t slots);
  void give(Segment& segment, std::uint64_t slots);
  Segment* find(unsigned count, std::uint64_t starts, bool only_dirty) const;
  void make_available(Segment& segment);
  void make_unavailable(Segment& segment);
  void purge(Segment& segment);
  void remove(Segment& segment);
  void purge_what_is_due(std::uint64_t now);
  void register_header(const void* segment, bool exists);
  Cached** find_cached(std::size_t segments);
  void drop_cached(Cached** link);

  Segment* all_ = nullptr;
  Segment* available_ = nullptr;
  Cached* cached_ = nullptr;
  Segment* forever_ = nullptr;  ///< Its slot 0 has room for heaps, from forever_used_ on.
  std::size_t forever_used_ = 0;
  std::size_t dirty_slots_ = 0;  ///< Empty ones.
  std::size_t mapped_ = 0;
  std::uint64_t next_look_ = 0;  ///< When to look for memory to give back; 0: never.

  static constexpr std::size_t kAddressBits = 47;
  static constexpr std::size_t kHeaderWords = (std::size_t{1} << kAddressBits) / kSegmentBytes / 64;
  std::uint64_t headers_[kHeaderWords]{};  ///< A bit for each segment with headers; atomic.
};

extern constinit Segments segments;

// Objects above 64 KiB: runs of slots, and from 2 MiB on mappings of their own.
//
// They do not belong to a heap: any thread frees them at once.

struct LargeBlock {
  void* start;   ///< Null: no memory.
  bool is_zero;  ///< All its bytes are 0.
};

/// Requires size > kLargestMedium or alignment > kLargestMedium, a power of 2.
LargeBlock allocate_large(std::size_t size, std::size_t alignment);
void release_large(Page& page, void* start);

/// Changes the size of a block where it is, or by moving its pages without copying. Null: not
/// possible, the block is unchanged; the caller copies.
void* resize_large(Page& page, void* start, std::size_t size);

/// Its usable bytes.
inline std::size_t large_bytes(const Page& page) { return page.bytes; }

}  // namespace geiger::heap
