// Size classes: the block sizes, and the class that serves a request.
//
// 16 to 128 bytes in steps of 16, then eight classes for each power of 2, so that a block is at
// most 12.5 % larger than the request (or 15 bytes). Each block size is a multiple of 16, and
// each power of 2 up to 64 KiB is a class: its blocks are aligned to their size.
//
// Threads / Signals / Fork: constants. Allocates: never.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "vocabulary/heap_layout.h"

namespace geiger::heap {

inline constexpr std::size_t kSlotBytes = std::size_t{64} << 10;
inline constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;
inline constexpr std::size_t kSlots = kSegmentBytes / kSlotBytes;
inline constexpr std::size_t kSystemPage = 4096;

inline constexpr std::size_t kSmallestBlock = 16;
inline constexpr unsigned kSmallClasses = 56;   ///< To 8 KiB, in pages of one slot.
inline constexpr unsigned kMediumClasses = 24;  ///< To 64 KiB, in pages of kMediumSlots.
inline constexpr unsigned kClasses = kSmallClasses + kMediumClasses;
inline constexpr unsigned kMediumSlots = 8;
inline constexpr std::size_t kLargestSmall = std::size_t{8} << 10;
inline constexpr std::size_t kLargestMedium = std::size_t{64} << 10;
inline constexpr std::size_t kLargestRun = std::size_t{2} << 20;  ///< Larger ones: huge.

inline constexpr auto kBlockSizes = [] {
  std::array<std::uint32_t, kClasses> sizes{};
  for (unsigned i = 0; i < kClasses; ++i) sizes[i] = vocabulary::heap_layout::block_bytes(i);
  return sizes;
}();

constexpr std::size_t block_size(unsigned size_class) { return kBlockSizes[size_class]; }

/// The class of the smallest blocks for `size` <= kLargestMedium bytes; 0 counts as 1.
constexpr unsigned class_of(std::size_t size) {
  const std::size_t last = size == 0 ? 0 : size - 1;
  if (last < 128) return static_cast<unsigned>(last / kSmallestBlock);
  const unsigned doubling = static_cast<unsigned>(std::bit_width(last)) - 8;
  return 8 + 8 * doubling + (static_cast<unsigned>(last >> (4 + doubling)) & 7);
}

/// The class of the smallest blocks for `size` bytes aligned to `alignment`, a power of 2; both at
/// most kLargestMedium. Blocks start at multiples of their size from a slot's start.
constexpr unsigned class_of_aligned(std::size_t size, std::size_t alignment) {
  unsigned size_class = class_of(size);
  while (block_size(size_class) % alignment != 0) ++size_class;
  return size_class;
}

/// The class that serves the first requests of a class in a heap: the next power of 2 from 64 bytes
/// on. So a thread with a few blocks of many sizes touches a few pages, not one for each size.
/// Large blocks would not benefit.
constexpr unsigned class_to_borrow_from(unsigned size_class) {
  constexpr std::size_t kSmallest = 64;
  constexpr std::size_t kLargest = 1024;
  const std::size_t size = block_size(size_class);
  if (size > kLargest) return size_class;
  return class_of(size <= kSmallest ? kSmallest : std::bit_ceil(size));
}

constexpr unsigned slots_of_page(unsigned size_class) {
  return size_class < kSmallClasses ? 1 : kMediumSlots;
}

constexpr unsigned blocks_of_page(unsigned size_class) {
  return static_cast<unsigned>(slots_of_page(size_class) * kSlotBytes / block_size(size_class));
}

static_assert(block_size(kSmallClasses - 1) == kLargestSmall);
static_assert(block_size(kClasses - 1) == kLargestMedium);

}  // namespace geiger::heap
