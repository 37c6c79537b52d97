#include <gtest/gtest.h>

#include "analysis/holders/layout.h"
#include "analysis/holders/marker.h"
#include "analysis/holders/test_memory.h"

namespace geiger::holders {
namespace {

constexpr Address kArena = 0x7f0000004000;
constexpr Bytes kPool = 16 * kKiB, kBlock = 64;

/// The second of two pools has four blocks of 64 bytes, of which the second is free.
class PythonBlocks : public testing::Test {
 protected:
  PythonBlocks() {
    observe::Mapping mapping;
    mapping.start = kArena;
    mapping.end = kArena + 4 * kPool;
    mapping.is_readable = mapping.is_writable = true;
    layout_.mappings = {mapping};
    pool(3, block(1), 4);
  }
  static Address block(unsigned i) { return kArena + kPool + 48 + kBlock * i; }
  void pool(std::uint64_t used, Address free, std::uint64_t touched) {
    const Address at = kArena + kPool;
    memory_.words[at] = used;
    memory_.words[at + 8] = free;
    memory_.words[at + 32] = std::uint64_t{kBlock / 16 - 1} << 32 | 7;
    memory_.words[at + 40] = std::uint64_t{kPool - kBlock} << 32 | (48 + kBlock * touched);
  }

  Layout layout_;
  TestMemory memory_;
};

TEST_F(PythonBlocks, AreThoseOfPools) {
  ASSERT_TRUE(add_python_blocks(layout_, memory_));
  for (const unsigned i : {0U, 2U, 3U}) {
    const auto found = layout_.blocks.block_at(block(i) + 40);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->start, block(i));
    EXPECT_EQ(layout_.blocks.end_of(*found), block(i) + kBlock);
    EXPECT_FALSE(found->is_free) << i;
  }
  EXPECT_TRUE(layout_.blocks.block_at(block(1))->is_free);
  EXPECT_TRUE(layout_.blocks.block_at(kArena + kPool)->is_free) << "the header";
  EXPECT_TRUE(layout_.blocks.block_at(block(4))->is_free) << "never used";
  ASSERT_EQ(layout_.not_roots.size(), 1U);
  EXPECT_EQ(layout_.not_roots[0].start, kArena + kPool);
  EXPECT_EQ(layout_.not_roots[0].end, kArena + 2 * kPool);
}

TEST_F(PythonBlocks, AreAllInUseWhereTheListOfFreeOnesChanges) {
  pool(2, block(1), 4);
  ASSERT_TRUE(add_python_blocks(layout_, memory_));
  EXPECT_FALSE(layout_.blocks.block_at(block(1))->is_free);
}

TEST_F(PythonBlocks, AreNoneWhereAHeaderIsNotAsItMustBe) {
  pool(3, block(1) + 8, 4);
  EXPECT_FALSE(add_python_blocks(layout_, memory_));
  pool(5, block(1), 4);
  EXPECT_FALSE(add_python_blocks(layout_, memory_));
  EXPECT_TRUE(layout_.not_roots.empty());
}

TEST_F(PythonBlocks, AreFoundLaterByHeadersAndLists) {
  ASSERT_TRUE(add_python_blocks(layout_, memory_));
  const auto late = [&](Address target) {
    const auto free = layout_.blocks.block_at(target);
    const auto found = layout_.late_at(target, {free->start, layout_.blocks.end_of(*free)});
    return found ? found->start : 0;
  };
  EXPECT_EQ(late(block(1)), 0U);
  pool(4, 0, 4);  // The second one is in use now.
  EXPECT_EQ(late(block(1) + 8), block(1));
  pool(6, block(4), 7);  // So are the sixth and the seventh.
  EXPECT_EQ(late(block(4)), 0U) << "free again";
  EXPECT_EQ(late(block(5) + 63), block(5));
  EXPECT_EQ(late(block(7)), 0U);
}

TEST_F(PythonBlocks, AreNotHeldByLinks) {
  memory_.words[block(0)] = block(2);       // A link.
  memory_.words[block(0) + 24] = block(3);  // A reference.
  ASSERT_TRUE(add_python_blocks(layout_, memory_));
  layout_.blocks.area_of(block(0))->set_link(block(0));
  Marker marker(layout_.blocks, memory_, {}, [] { return true; });
  marker.root(block(0), 0x1000, Holds::kFirmly, [](Address) { return RootGroup{0}; });
  ASSERT_TRUE(marker.run());
  const auto is_reached = [&](unsigned i) {
    return marker.is_reached(layout_.blocks.block_at(block(i))->number);
  };
  EXPECT_TRUE(is_reached(0) && is_reached(3));
  EXPECT_FALSE(is_reached(2));
}

}  // namespace
}  // namespace geiger::holders
