#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/test_used_pages.h"

namespace geiger::observe {
namespace {

struct Block {
  Address start, end;
  bool is_used;
};

std::vector<Block> blocks_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  Address at = 0x10000 + 16 * (random() % 64);
  for (int i = 0; i < 400; ++i) {
    const bool is_large = random() % 20 == 0;
    const Bytes bytes = 32 + 16 * (random() % (is_large ? 3000 : 40));
    blocks.push_back({at, at + bytes, random() % 3 != 0});
    at += bytes;
  }
  return blocks;
}

/// All used bytes together answer for all free bytes on pages that hold some: what the
/// estimator of stranded bytes rests on.
TEST(Occupancy, UsedBlocksAnswerForAllThatIsStranded) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    PageOccupancy occupancy(4096);
    UsedPages used;
    const std::vector<Block> blocks = blocks_of(seed);
    for (const Block& block : blocks) {
      occupancy.add(block.start, block.end, block.is_used);
      if (block.is_used) used.add(block.start, block.end);
    }
    double answered = 0;
    for (const Block& block : blocks) {
      if (block.is_used) answered += occupancy.waste_of(block.start, block.end);
    }
    const auto stranded =
        static_cast<double>(used.stranded_in(blocks.front().start, blocks.back().end));
    EXPECT_NEAR(answered, stranded, 1e-6 * stranded);
    EXPECT_GT(stranded, 0);
  }
}

TEST(Occupancy, AKnownPage) {
  PageOccupancy occupancy(4096);
  occupancy.add(0x1000, 0x1400, true);
  occupancy.add(0x1400, 0x1c00, false);
  occupancy.add(0x1c00, 0x2000, true);
  occupancy.add(0x2000, 0x9800, false);  // seven whole pages and a half
  occupancy.add(0x9800, 0xa000, true);
  EXPECT_DOUBLE_EQ(occupancy.waste_of(0x1000, 0x1400), 1024);
  EXPECT_DOUBLE_EQ(occupancy.waste_of(0x9800, 0xa000), 2048);
  EXPECT_DOUBLE_EQ(occupancy.waste_of(0x3000, 0x4000), 0);
  EXPECT_DOUBLE_EQ(occupancy.waste_of(0x123000, 0x124000), 0);
}

}  // namespace
}  // namespace geiger::observe
