// Objects above 64 KiB: runs of slots, and from 2 MiB on mappings of their own.
//
// They belong to no heap: any thread gives them back at once.
#pragma once

#include <cstddef>

#include "runtime/heap/page.h"

namespace geiger::heap {

struct LargeBlock {
  void* start;   ///< Null: no memory.
  bool is_zero;  ///< All its bytes are.
};

/// Requires size > kLargestMedium or alignment > kLargestMedium, a power of 2.
LargeBlock allocate_large(std::size_t size, std::size_t alignment);
void release_large(Page& page, void* start);

/// Changes the size of a block where it is, or by moving its pages without copying. Null: do it by
/// hand; the block is as it was.
void* resize_large(Page& page, void* start, std::size_t size);

/// Bytes usable in it.
inline std::size_t large_bytes(const Page& page) { return page.bytes; }

}  // namespace geiger::heap
