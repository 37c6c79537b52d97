// What malloc and free do rarely, and what their relatives do: the allocator as functions.
//
// Out of line, but not optimized for size as GEIGER_SLOW_PATH is: objects above 8 KiB and those of
// other threads always come here.
//
// All of them keep errno unless they fail for want of memory, which sets ENOMEM; null then.
#pragma once

#include <cstddef>

#include "base/attributes.h"
#include "runtime/heap/heap.h"

namespace geiger::heap {

/// Any size; after a list's take() failed, or without one.
[[gnu::noinline]] void* allocate_slow(std::size_t size);

/// A block aligned to `alignment`, a power of 2.
void* allocate_aligned(std::size_t size, std::size_t alignment);

/// Zeroed.
void* allocate_zeroed(std::size_t size);

/// As realloc(), of a live block and a size above 0.
void* reallocate(void* pointer, std::size_t size);

/// Bytes that the program may use at a live block.
std::size_t usable_size(void* pointer);

/// Any live block; refuses other addresses.
[[gnu::noinline]] void release_slow(void* pointer);

/// `needed` of the page is 0: it is empty, or an eighth of it is free again.
[[gnu::noinline]] void page_event(Page* page);

/// Gives all free memory back to the system that can be. True if there was any.
bool trim();

}  // namespace geiger::heap
