#include <gtest/gtest.h>

#include "heap/allocator.h"
#include "heap/heap.h"

namespace geiger::heap {
namespace {

TEST(Classes, EachSizeHasTheSmallestBlockThatHoldsIt) {
  for (std::size_t size = 0; size <= kLargestMedium; ++size) {
    const unsigned found = class_of(size);
    ASSERT_LT(found, kClasses);
    ASSERT_GE(block_size(found), size);
    ASSERT_TRUE(found == 0 || block_size(found - 1) < size) << size;
  }
}

TEST(Classes, BlocksWasteAnEighthAtMost) {
  for (unsigned i = 1; i < kClasses; ++i) {
    EXPECT_EQ(block_size(i) % kSmallestBlock, 0U);
    const std::size_t step = block_size(i) - block_size(i - 1);
    EXPECT_TRUE(step == kSmallestBlock || step * 8 <= block_size(i - 1)) << block_size(i);
  }
}

TEST(Classes, AlignedBlocksAreTheSmallestThatAreAligned) {
  for (std::size_t alignment = 1; alignment <= kLargestMedium; alignment *= 2) {
    for (std::size_t size = 0; size <= kLargestMedium; size = size * 9 / 8 + 1) {
      const unsigned found = class_of_aligned(size, alignment);
      ASSERT_LT(found, kClasses);
      ASSERT_GE(block_size(found), size);
      ASSERT_EQ(block_size(found) % alignment, 0U);
    }
  }
}

TEST(Classes, PagesLoseLittleAtTheirEnd) {
  for (unsigned i = 0; i < kClasses; ++i) {
    const std::size_t bytes = slots_of_page(i) * kSlotBytes;
    EXPECT_LT(bytes - blocks_of_page(i) * block_size(i), bytes / 9) << block_size(i);
    EXPECT_GE(blocks_of_page(i), 8U);
  }
}

TEST(Classes, TheFastPathsTableIsTheFunction) {
  for (std::size_t size = 0; size <= kLargestSmall; ++size) {
    ASSERT_EQ(kListOffsets[(size + 15) / 16], class_of(size) * sizeof(List)) << size;
  }
}

TEST(PageOf, IsFoundForEachAddressOfASlot) {
  const std::uintptr_t segment = 5 * kSegmentBytes;
  const auto header = [](std::uintptr_t address) {
    return reinterpret_cast<std::uintptr_t>(page_of(reinterpret_cast<void*>(address)));  // NOLINT
  };
  for (std::uintptr_t slot = 1; slot < kSlots; ++slot) {
    for (const std::uintptr_t offset : {std::size_t{0}, std::size_t{1}, kSlotBytes - 1}) {
      const std::uintptr_t found = header(segment + slot * kSlotBytes + offset);
      EXPECT_EQ(found, segment + slot * sizeof(Page));
      auto* const page = reinterpret_cast<Page*>(found);  // NOLINT
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot_of(page)), segment + slot * kSlotBytes);
    }
  }
  // At a segment boundary: in the segment before.
  EXPECT_EQ(header(segment), segment - kSegmentBytes);
}

}  // namespace
}  // namespace geiger::heap
