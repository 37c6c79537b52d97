#include "runtime/heap/slow_paths.h"

#include <errno.h>
#include <string.h>

#include <algorithm>

#include "base/check.h"
#include "runtime/heap/census.h"
#include "runtime/heap/fast_paths.h"
#include "runtime/heap/large.h"
#include "runtime/heap/pages.h"
#include "runtime/heap/segments.h"
#include "runtime/heap/system.h"
#include "runtime/heap/threads.h"

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

/// Whether a request of a class that has no list yet should be served by another one: it is among
/// the first few.
bool should_borrow(Heap& heap, unsigned size_class) {
  constexpr std::uint32_t kFew = 8;
  Bin& bin = heap.bins[size_class];
  if (bin.borrowed == kFew || class_to_borrow_from(size_class) == size_class) return false;
  ++bin.borrowed;
  return true;
}

/// From the list of the class, whatever it contains.
void* allocate_from(Heap& heap, unsigned size_class, std::size_t size) {
  List& list = heap.lists[size_class];
  if (list.take()) return pop(list);
  if (list.block_size == 0) {
    if (should_borrow(heap, size_class)) {
      return allocate_from(heap, class_to_borrow_from(size_class), size);
    }
    heap.sampler.open(list, block_size(size_class));
  }
  const Busy busy(heap);
  if (list.is_used_up()) {
    if (!refill(heap, size_class) && !(trim() && refill(heap, size_class))) return out_of_memory();
    if (list.take()) return pop(list);
  }
  heap.sampler.decide(list, size);
  return pop(list);
}

LargeBlock large_or_error(std::size_t size, std::size_t alignment) {
  LargeBlock block = allocate_large(size, alignment);
  if (block.start == nullptr && trim()) block = allocate_large(size, alignment);
  if (block.start == nullptr) errno = ENOMEM;
  return block;
}

/// The page of a live block; refuses addresses that are not one, as far as that can be seen.
Page& live_page(const void* pointer, const char* function) {
  if (!segments.has_header(pointer)) system::refuse(function, pointer);
  Page* const page = page_of(pointer);
  if (page->owner.load(std::memory_order_relaxed) == kNobody) system::refuse(function, pointer);
  return *page;
}

bool is_large(const Page& page) {
  const std::uintptr_t owner = page.owner.load(std::memory_order_relaxed);
  return owner == kLarge || owner == kHuge;
}

/// Whether a block of a page starts there.
bool is_block(Page& page, const void* pointer) {
  const auto offset = static_cast<const std::byte*>(pointer) - slot_of(&page);
  const auto size = static_cast<std::ptrdiff_t>(block_size(page.size_class));
  return offset % size == 0 && offset / size < page.carved;
}

}  // namespace

void* allocate_slow(std::size_t size) {
  check_heap();
  if (size > kLargestMedium) return large_or_error(size, kSmallestBlock).start;
  Heap* const heap = own_heap();
  if (heap == nullptr) return out_of_memory();
  return allocate_from(*heap, class_of(size), size);
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
  if (alignment <= kSmallestBlock) return allocate(size);
  if (size > kLargestMedium || alignment > kLargestMedium) {
    return large_or_error(size, alignment).start;
  }
  Heap* const heap = own_heap();
  if (heap == nullptr) return out_of_memory();
  return allocate_from(*heap, class_of_aligned(size, alignment), size);
}

void* allocate_zeroed(std::size_t size) {
  if (size > kLargestMedium) {
    const LargeBlock block = large_or_error(size, kSmallestBlock);
    if (block.start != nullptr && !block.is_zero) memset(block.start, 0, size);
    return block.start;
  }
  void* const block = allocate(size);
  return block != nullptr ? memset(block, 0, size) : nullptr;
}

std::size_t usable_size(void* pointer) {
  Page& page = live_page(pointer, "malloc_usable_size()");
  if (is_large(page)) return large_bytes(page);
  return block_size(first_slot(&page)->size_class);
}

void release_slow(void* pointer) {
  check_heap();
  Page& page = live_page(pointer, "free()");
  if (is_large(page)) return release_large(page, pointer);
  Page& first = *first_slot(&page);
  auto* const block = static_cast<Block*>(pointer);
  if (!is_block(first, pointer)) system::refuse("free()", pointer);
  if (first.heap == this_heap) return free_local(first, block);
  push_to_inbox(*first.heap, block, block_size(first.size_class));
}

void* reallocate(void* pointer, std::size_t size) {
  Page& page = live_page(pointer, "realloc()");
  if (is_large(page)) {
    if (void* const resized = resize_large(page, pointer, size)) return resized;
  }
  const std::size_t usable = usable_size(pointer);
  if (!is_large(page) && size <= usable && size > usable / 2) return pointer;
  void* const moved = allocate(size);
  if (moved == nullptr) return nullptr;
  memcpy(moved, pointer, std::min(size, usable));
  release(pointer);
  return moved;
}

bool trim() {
  Heap* const heap = this_heap;
  if (heap != &no_heap) {
    const Busy busy(*heap);
    drain_inbox(*heap);
    give_empty_pages(*heap);
  }
  return segments.purge_all();
}

}  // namespace geiger::heap
