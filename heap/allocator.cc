#include "heap/allocator.h"

#include <errno.h>
#include <string.h>

#include <algorithm>

#include "base/check.h"
#include "heap/census.h"
#include "heap/pages.h"
#include "heap/samples.h"
#include "heap/segments.h"
#include "heap/system.h"
#include "heap/threads.h"

namespace geiger::heap {

namespace {

void* out_of_memory() {
  errno = ENOMEM;
  return nullptr;
}

/// The heap of this thread; null: no memory.
Heap* own_heap() {
  Heap* const heap = this_heap;
  return heap != &no_heap ? heap : begin_thread();
}

/// Whether another class should serve a request of a class without a list: only the first few.
bool should_borrow(Heap& heap, unsigned size_class) {
  constexpr std::uint32_t kFew = 8;
  Bin& bin = heap.bins[size_class];
  if (bin.borrowed == kFew || class_to_borrow_from(size_class) == size_class) return false;
  ++bin.borrowed;
  return true;
}

void* allocate_from(Heap& heap, unsigned size_class, std::size_t size, std::size_t alignment);

inline bool refill_list(Heap& heap, unsigned size_class) {
  const Busy busy(heap);
  if (!refill(heap, size_class) && !(trim() && refill(heap, size_class))) return false;
  keep_up(heap);  // Before a decision is fine here: no draw determines when a list is used up.
  return true;
}

/// Places the object if `verdict` makes it a sample; returns its address.
inline void* place_if_drawn(Sample sample, sampling::Verdict verdict) {
  if (verdict.kind == sampling::Verdict::Kind::kNotSampled) return sample.address;
  sample.offset = verdict.offset;
  sample.is_certain = verdict.kind == sampling::Verdict::Kind::kCertain;
  return place(sample);
}

/// Takes the next block of a list, about which the sampler must decide.
[[gnu::noinline]] void* allocate_decided(Heap& heap, List& list, std::size_t size,
                                         std::size_t alignment) {
  const std::uint64_t interval = heap.sampler.interval();
  sampling::Verdict verdict;
  void* block = nullptr;
  {
    const Busy busy(heap);
    verdict = heap.sampler.decide(list, size);
    block = pop(list);
    keep_up(heap);
  }
  return place_if_drawn({block, size, list.block_size, alignment, interval, 0, false}, verdict);
}

/// Opens the list of a class, or serves the request from another one.
[[gnu::noinline]] void* allocate_first(Heap& heap, unsigned size_class, std::size_t size,
                                       std::size_t alignment) {
  if (should_borrow(heap, size_class)) {
    return allocate_from(heap, class_to_borrow_from(size_class), size, alignment);
  }
  heap.sampler.open(heap.lists[size_class], block_size(size_class));
  return allocate_from(heap, size_class, size, alignment);
}

/// Takes a block from the list of the class, in any state.
inline void* allocate_from(Heap& heap, unsigned size_class, std::size_t size,
                           std::size_t alignment) {
  List& list = heap.lists[size_class];
  if (list.block_size == 0) [[unlikely]]
    return allocate_first(heap, size_class, size, alignment);
  if (list.is_used_up() && !refill_list(heap, size_class)) return out_of_memory();
  if (list.take()) return pop(list);
  return allocate_decided(heap, list, size, alignment);
}

bool is_large(const Page& page) {
  const std::uintptr_t owner = page.owner.load(std::memory_order_relaxed);
  return owner == kLarge || owner == kHuge;
}

bool is_of_samples(const Page& page) {
  return page.owner.load(std::memory_order_relaxed) == kSamplesOnly;
}

std::size_t usable_in(Page& page, const void* pointer) {
  if (is_large(page)) return large_bytes(page);
  if (is_of_samples(page)) return moved_usable_size(page, pointer);
  return block_size(first_slot(&page)->size_class);
}

/// Tries an object that is not from a list. Does not move its contents.
void* try_directly(void* block, std::size_t size, std::size_t alignment) {
  Heap* const heap = own_heap();
  if (heap == nullptr) return block;
  const std::uint64_t interval = heap->sampler.interval();
  const sampling::Verdict verdict = decide_directly(*heap, size);
  keep_up(*heap);
  const std::size_t usable = usable_in(*page_of(block), block);
  return place_if_drawn({block, size, usable, alignment, interval, 0, false}, verdict);
}

LargeBlock large_or_error(std::size_t size, std::size_t alignment) {
  const std::size_t at_least = std::max(alignment, kSmallestBlock);
  LargeBlock block = allocate_large(size, at_least);
  if (block.start == nullptr && trim()) block = allocate_large(size, at_least);
  if (block.start == nullptr) errno = ENOMEM;
  return block;
}

void* large_block(std::size_t size, std::size_t alignment) {
  const LargeBlock block = large_or_error(size, alignment);
  return block.start != nullptr ? try_directly(block.start, size, alignment) : nullptr;
}

/// The page of a live block; refuses other addresses as far as they can be detected.
inline Page& live_page(const void* pointer, const char* function) {
  if (!segments.has_header(pointer)) system::refuse(function, pointer);
  Page* const page = page_of(pointer);
  if (page->owner.load(std::memory_order_relaxed) == kNobody) system::refuse(function, pointer);
  return *page;
}

/// Whether a block of a page starts there.
bool is_block(Page& page, const void* pointer) {
  // Division of 32 bits takes a third of the time of 64. `carved` is the owner's.
  const auto offset =
      static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - slot_of(&page));
  const auto size = static_cast<std::uint32_t>(block_size(page.size_class));
  return offset % size == 0 && offset / size < page.capacity;
}

/// Frees an object that the fast path does not free, on a page without moved samples.
void release_at(Page& page, void* pointer) {
  Page& first = *first_slot(&page);
  if (!is_large(first) && !is_block(first, pointer)) system::refuse("free()", pointer);
  end_in_place(first, pointer);
  if (is_large(first)) return release_large(first, pointer);
  auto* const block = static_cast<Block*>(pointer);
  if (first.heap == this_heap) return free_local(first, block);
  free_remote(*first.heap, block, block_size(first.size_class));
}

}  // namespace

void* allocate_slow(std::size_t size) {
  check_heap();
  unsigned size_class = 0;
  if (size <= kLargestSmall) {
    const std::size_t offset = list_offset(size);
    List& list = this_heap->list_at(offset);
    if (list.reserve != 0) return allocate_decided(*this_heap, list, size, 0);
    size_class = static_cast<unsigned>(offset / sizeof(List));
  } else {
    if (size > kLargestMedium) return large_block(size, 0);
    size_class = class_of(size);
  }
  Heap* const heap = own_heap();
  if (heap == nullptr) return out_of_memory();
  return allocate_from(*heap, size_class, size, 0);
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
  if (alignment <= kSmallestBlock) return allocate(size);
  if (size > kLargestMedium || alignment > kLargestMedium) {
    return large_block(size, alignment);
  }
  Heap* const heap = own_heap();
  if (heap == nullptr) return out_of_memory();
  return allocate_from(*heap, class_of_aligned(size, alignment), size, alignment);
}

void* allocate_zeroed(std::size_t size) {
  if (size > kLargestMedium) {
    const LargeBlock block = large_or_error(size, 0);
    if (block.start == nullptr) return nullptr;
    if (!block.is_zero) memset(block.start, 0, size);
    return try_directly(block.start, size, 0);
  }
  void* const block = allocate(size);
  return block != nullptr ? memset(block, 0, size) : nullptr;
}

std::size_t usable_size(void* pointer) {
  return usable_in(live_page(pointer, "malloc_usable_size()"), pointer);
}

void release_slow(void* pointer) {
  check_heap();
  if (is_among_samples) return free_later(pointer);
  Page& page = live_page(pointer, "free()");
  if (is_of_samples(page)) return release_moved(page, pointer);
  release_at(page, pointer);
  release_what_came_later();
}

namespace {

/// Resizes in place, or by moving the pages of a huge object. A moved sample goes back to its
/// proxy, where it would have been without sampling. Null: allocate and copy.
void* resize(Page& page, void* pointer, std::size_t size, std::size_t usable) {
  if (is_large(page)) return resize_large(page, pointer, size);
  if (size > usable || size <= usable / 2) return nullptr;
  if (!is_of_samples(page)) return pointer;
  void* const proxy = memcpy(proxy_of(page, pointer), pointer, usable);
  end_moved(page, pointer);
  return proxy;
}

}  // namespace

void* reallocate(void* pointer, std::size_t size) {
  Page& page = *first_slot(&live_page(pointer, "realloc()"));
  const std::size_t usable = usable_in(page, pointer);
  const bool stays = !is_among_samples;
  const Detached sample = is_of_samples(page) || !stays ? Detached{} : detach(page, pointer);
  if (void* const resized = stays ? resize(page, pointer, size, usable) : nullptr) {
    // The old object ends; the new one is tried as a whole.
    tell_end(sample, pointer);
    void* const placed = try_directly(resized, size, 0);
    return placed == resized ? resized : memcpy(placed, resized, std::min(size, usable));
  }
  attach_again(page, pointer, sample);
  void* const moved = allocate(size);
  if (moved == nullptr) return nullptr;
  memcpy(moved, pointer, std::min(size, usable));
  release(pointer);
  return moved;
}

bool trim() {
  Heap* const heap = this_heap;
  if (heap != &no_heap) {
    send_outbox(*heap);
    const Busy busy(*heap);
    drain_inbox(*heap);
    give_empty_pages(*heap);
  }
  return segments.purge_all();
}

}  // namespace geiger::heap
