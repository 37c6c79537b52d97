// The rare cases of malloc and free, and the related functions: the allocator as functions.
//
// Out of line, but not optimised for size like GEIGER_SLOW_PATH: objects above 8 KiB and those of
// other threads always take this path.
//
// All preserve errno, unless they return null for lack of memory and set ENOMEM.
#pragma once

#include <cstddef>

#include "base/attributes.h"
#include "heap/heap.h"

namespace geiger::heap {

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

}  // namespace geiger::heap
