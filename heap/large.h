// Objects above 64 KiB: runs of slots, and from 2 MiB on mappings of their own.
//
// They do not belong to a heap: any thread frees them at once.
#pragma once

#include <cstddef>

#include "heap/page.h"

namespace geiger::heap {

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
