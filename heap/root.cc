// The entry point for readers of the allocator's memory from outside (vocabulary/heap_layout.h).
// Compares that layout with the structures themselves.
#include <bit>
#include <cstddef>

#include "heap/heap.h"
#include "heap/samples.h"
#include "heap/segments.h"
#include "heap/threads.h"
#include "vocabulary/heap_layout.h"

namespace geiger::heap {

namespace layout = vocabulary::heap_layout;

#define GEIGER_SAME_PLACE(type, member) \
  static_assert(offsetof(type, member) == offsetof(layout::type, member))

GEIGER_SAME_PLACE(Page, owner);
GEIGER_SAME_PLACE(Page, local_free);
GEIGER_SAME_PLACE(Page, needed);
GEIGER_SAME_PLACE(Page, base);
GEIGER_SAME_PLACE(Page, heap);
GEIGER_SAME_PLACE(Page, sampled);
GEIGER_SAME_PLACE(Page, carved);
GEIGER_SAME_PLACE(Page, capacity);
GEIGER_SAME_PLACE(Page, size_class);
GEIGER_SAME_PLACE(Page, slots);
GEIGER_SAME_PLACE(Page, back);
GEIGER_SAME_PLACE(Segment, empty);
GEIGER_SAME_PLACE(Segment, dirty);
GEIGER_SAME_PLACE(Segment, next);
GEIGER_SAME_PLACE(List, head);
GEIGER_SAME_PLACE(List, left);
GEIGER_SAME_PLACE(List, reserve);
GEIGER_SAME_PLACE(Bin, current);
static_assert(sizeof(List) == sizeof(layout::List) && sizeof(Bin) == sizeof(layout::Bin));
static_assert(offsetof(Heap, lists) == 0 && offsetof(Heap, bins) == kClasses * sizeof(List));
static_assert(offsetof(Heap, outbox) + offsetof(Outbox, first) == layout::kOutbox);
static_assert(offsetof(Heap, arrived) == layout::kArrived);
static_assert(offsetof(Heap, next) == layout::kNextHeap);
static_assert(offsetof(Heap, inbox) == layout::kInbox);
static_assert(kSegmentBytes == layout::kSegmentBytes && kSlotBytes == layout::kSlotBytes &&
              kClasses == layout::kClasses);
static_assert(kMedium == std::uintptr_t{layout::kMedium} &&
              kHasSamples == std::uintptr_t{layout::kHasSamples});
#undef GEIGER_SAME_PLACE

/// Addresses as pointers, because they are not constants as integers.
struct Root {
  std::uint64_t magic[2];
  std::uint64_t number;
  const void* addresses[5];
};
static_assert(sizeof(Root) == sizeof(layout::Root));

extern "C" [[gnu::visibility("default")]] const Root geiger_heap_root_v1;
alignas(16) constinit const Root geiger_heap_root_v1{
    {layout::kMagic[0], layout::kMagic[1]},
    layout::kNumber,
    {segments.address_of_first(), &newest_heap, segments.address_of_mapped(), &segments.huge_bytes,
     &segments.huge_mapped}};

}  // namespace geiger::heap
