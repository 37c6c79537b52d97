// The allocator as functions: malloc and free, all code that they execute except in rare cases, and
// the rare cases, which the .cc has. Read this file first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "heap/heap.h"

namespace geiger::heap {

// The rare cases of malloc and free, and the related functions: the allocator as functions.
//
// Out of line, but not optimised for size like GEIGER_SLOW_PATH: objects above 8 KiB and those of
// other threads always take this path.
//
// All preserve errno, unless they return null for lack of memory and set ENOMEM.

/// Any size; after a list's take() failed, or without one.
[[gnu::noinline]] void* allocate_slow(std::size_t size);

/// A block aligned to `alignment`, a power of 2.
void* allocate_aligned(std::size_t size, std::size_t alignment);

/// Zeroed.
void* allocate_zeroed(std::size_t size);

/// Like realloc() with a live block and a size above 0.
void* reallocate(void* pointer, std::size_t size);

/// Bytes that the program may use at a live block.
std::size_t usable_size(void* pointer);

/// Any live block; refuses other addresses.
[[gnu::noinline]] void release_slow(void* pointer);

/// Called when the page's `needed` is 0: it is empty, or an eighth of it is free again.
[[gnu::noinline]] void page_event(Page* page);

/// Gives back as much free memory to the system as possible. True if there was any.
bool trim();

// malloc and free: all code that they execute, except in rare cases. Read this file first.
//
//   malloc   the class of the size gives a list of the thread's heap. A list is counted: below 0,
//            the slow path refills it, or decides about the block that the sampler drew. Whether
//            sampling is on is part of the count's value.
//   free     the address gives the header of its page. If the thread's heap owns it, the block goes
//            to the page's own list; `needed` counts down to the next event of the page. All else
//            has another owner: blocks of other threads, sampled, medium, large and huge objects.
//
// Threads without a heap have no_heap, whose lists are always below 0, and which does not own any
// page.

/// Offset in a heap of the list for a small request, by its size in units of 16 bytes, rounded up.
inline constexpr auto kListOffsets = [] {
  std::array<std::uint16_t, kLargestSmall / kSmallestBlock + 1> offsets{};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = static_cast<std::uint16_t>(class_of(i * kSmallestBlock) * sizeof(List));
  }
  return offsets;
}();

/// Offset in a heap of the list for a small request.
GEIGER_FAST_PATH std::size_t list_offset(std::size_t size) {
  return kListOffsets[(size + kSmallestBlock - 1) / kSmallestBlock];
}

GEIGER_FAST_PATH void* pop(List& list) {
  auto* const block = static_cast<Block*>(list.head);
  list.head = block->next;
  return block;
}

GEIGER_FAST_PATH void* allocate(std::size_t size) {
  if (size > kLargestSmall) [[unlikely]]
    return allocate_slow(size);
  List& list = this_heap->list_at(list_offset(size));
  if (!list.take()) [[unlikely]]
    return allocate_slow(size);
  return pop(list);
}

/// Keeps the compiler from counting first. If a thread never returns from between the two (in the
/// child of a fork, or after a jump out of a signal handler), the list is longer than its count: a
/// block is lost, but no block is handed out that does not exist. No instruction.
GEIGER_FAST_PATH void count_after_list() { std::atomic_signal_fence(std::memory_order_release); }

GEIGER_FAST_PATH void release(void* pointer) {
  if (pointer == nullptr) return;
  Page* const page = page_of(pointer);
  if (page->owner.load(std::memory_order_relaxed) != this_heap->as_owner()) [[unlikely]]
    return release_slow(pointer);
  auto* const block = static_cast<Block*>(pointer);
  block->next = page->local_free;
  page->local_free = block;
  count_after_list();
  if (--page->needed == 0) [[unlikely]]
    page_event(page);
}

}  // namespace geiger::heap
