// The allocator, call by call. Its heap is beside the test program's own malloc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "heap/allocator.h"
#include "heap/census.h"

namespace geiger::heap {
namespace {

constexpr std::size_t kSizes[] = {0,    1,     16,    17,     128,     129,     1024,    8192,
                                  8193, 65536, 65537, 100000, 2 << 20, 3 << 20, 20 << 20};

TEST(Heap, BlocksAreAlignedAndLargeEnough) {
  for (const std::size_t size : kSizes) {
    void* const block = allocate(size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
    EXPECT_GE(usable_size(block), size);
    memset(block, 1, size);
    release(block);
  }
}

TEST(Heap, EveryPowerOfTwoIsAnAlignment) {
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
    for (const std::size_t size : kSizes) {
      void* const block = allocate_aligned(size, alignment);
      ASSERT_NE(block, nullptr) << size << " at " << alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
      memset(block, 1, size);
      release(block);
    }
  }
}

TEST(Heap, TooLargeRequestsFailAndTouchNothing) {
  constexpr std::size_t kMost = ~std::size_t{0};
  for (const std::size_t size : {kMost, kMost - 15, kMost / 2, kMost / 2 + 1, kMost / 4}) {
    errno = 0;
    EXPECT_EQ(allocate(size), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(allocate_zeroed(size), nullptr);
    EXPECT_EQ(allocate_aligned(size, 64), nullptr);
    EXPECT_EQ(allocate_aligned(1, kMost / 2 + 1), nullptr);
    void* const block = allocate(100);
    EXPECT_EQ(reallocate(block, size), nullptr);
    release(block);
  }
  const Census census = take_census();
  EXPECT_EQ(census.sum(), census.mapped);
}

TEST(Heap, ErrnoIsKept) {
  for (const std::size_t size : kSizes) {
    errno = 77;
    void* block = allocate(size);
    block = reallocate(block, size + 1);
    release(block);
    EXPECT_EQ(errno, 77) << size;
  }
}

TEST(Heap, ZeroedBlocksAreZeroAlsoWhenUsedBefore) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : kSizes) {
      auto* const block = static_cast<unsigned char*>(allocate_zeroed(size));
      // Each byte is 0 like the first.
      ASSERT_TRUE(size == 0 || (block[0] == 0 && memcmp(block, block + 1, size - 1) == 0)) << size;
      memset(block, 0xff, size);
      release(block);
    }
  }
}

TEST(Heap, ReallocationKeepsWhatWasThere) {
  for (const std::size_t from : kSizes) {
    for (const std::size_t to : kSizes) {
      if (to == 0) continue;
      auto* block = static_cast<unsigned char*>(allocate(from));
      for (std::size_t i = 0; i < from; i += 13) block[i] = static_cast<unsigned char>(i);
      block = static_cast<unsigned char*>(reallocate(block, to));
      for (std::size_t i = 0; i < std::min(from, to); i += 13) {
        ASSERT_EQ(block[i], static_cast<unsigned char>(i)) << from << " to " << to;
      }
      memset(block, 1, to);
      release(block);
    }
  }
}

// A huge object that grows by steps stays where it is, or its pages move.
TEST(Heap, HugeObjectsGrow) {
  std::size_t size = 3 << 20;
  auto* block = static_cast<unsigned char*>(allocate(size));
  block[0] = 1;
  while (size < std::size_t{200} << 20) {
    block[size - 1] = 2;
    const std::size_t before = size;
    size += size / 3;
    block = static_cast<unsigned char*>(reallocate(block, size));
    ASSERT_EQ(block[0], 1);
    ASSERT_EQ(block[before - 1], 2);
  }
  release(block);
}

// --- memory that goes back ---

TEST(Heap, AFreedPageIsUsedAgain) {
  const std::size_t before = take_census().mapped;
  for (int round = 0; round < 100; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 5000; ++i) blocks.push_back(allocate(512));
    for (void* const block : blocks) release(block);
  }
  EXPECT_LE(take_census().mapped, before + kSegmentBytes);
}

TEST(Heap, BlocksOfAPageDoNotOverlapAndFillIt) {
  const unsigned size_class = class_of(1000);
  std::vector<std::uintptr_t> blocks;
  for (unsigned i = 0; i < 4 * blocks_of_page(size_class); ++i) {
    blocks.push_back(reinterpret_cast<std::uintptr_t>(allocate(1000)));
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GE(blocks[i] - blocks[i - 1], block_size(size_class));
  }
  for (const std::uintptr_t block : blocks) release(reinterpret_cast<void*>(block));  // NOLINT
}

TEST(Heap, CountsOfBlocksHandedOutAreExact) {
  const unsigned size_class = class_of(64);
  const std::uint64_t before = handed_out(size_class);
  std::vector<void*> blocks;
  for (int i = 0; i < 12'345; ++i) {
    blocks.push_back(allocate(64));
    ASSERT_EQ(handed_out(size_class) - before, blocks.size());
  }
  for (void* const block : blocks) release(block);
  EXPECT_EQ(handed_out(size_class) - before, 12'345U);
}

// --- threads ---

// Blocks of every kind, freed by a thread that did not allocate them. `owner`: the state of the
// allocating thread.
enum class Owner { kAlive, kGone, kAdopted };

void free_elsewhere(Owner owner) {
  std::vector<void*> blocks;
  const auto fill = [&] {
    for (int i = 0; i < 300; ++i) {
      for (const std::size_t size : kSizes) {
        if (size <= 100'000) blocks.push_back(allocate(size));
      }
    }
  };
  const auto free_all = [&] {
    for (void* const block : blocks) release(block);
  };
  if (owner == Owner::kAlive) {
    fill();
    std::thread(free_all).join();
  } else {
    std::thread(fill).join();
    if (owner == Owner::kGone) free_all();
    if (owner == Owner::kAdopted)
      std::thread([&] {
        release(allocate(1));
        free_all();
      }).join();
  }
}

TEST(Heap, BlocksAreFreedByAnyThread) {
  release(allocate(1));
  for (const Owner owner : {Owner::kAlive, Owner::kGone, Owner::kAdopted}) {
    free_elsewhere(owner);
    (void)trim();
    // All heaps except this one are idle: inboxes contain less than an idle heap may have.
    const Census census = take_census();
    EXPECT_EQ(census.sum(), census.mapped);
    EXPECT_EQ(census.live, 0U) << static_cast<int>(owner);
    EXPECT_LE(census.inboxes, 2 * (std::size_t{64} << 10));
  }
}

TEST(Heap, AHeapIsUsedByOneThreadAfterTheOther) {
  const std::size_t before = take_census().mapped;
  for (int i = 0; i < 500; ++i) {
    std::thread([] { release(allocate(100)); }).join();
  }
  EXPECT_LE(take_census().mapped, before + kSegmentBytes);
}

// --- refusals ---

using HeapDeathTest = ::testing::Test;

TEST(HeapDeathTest, WhatIsNotALiveBlockIsRefused) {
  static char ours[64];
  // The address of a header: mapped, but not an object.
  auto* const block = static_cast<char*>(allocate(100'000));
  auto* const medium = static_cast<char*>(allocate(20'000));
  EXPECT_DEATH(release(block + kSlotBytes), "free\\(\\): 0x[0-9a-f]{16} is not a live block");
  EXPECT_DEATH(release(medium + 16), "is not a live block");
  EXPECT_DEATH((release(block), release(block)), "is not a live block");
  EXPECT_DEATH((void)usable_size(ours), "malloc_usable_size\\(\\).*is not a live block");
  EXPECT_DEATH((void)reallocate(ours, 10), "realloc\\(\\).*is not a live block");
  auto* const huge = static_cast<char*>(allocate(9 << 20));
  EXPECT_DEATH((release(huge), release(huge)), "is not a live block");
  release(block);
  release(medium);
  release(huge);
}

}  // namespace
}  // namespace geiger::heap
