#include "analysis/holders/block_map.h"

#include <gtest/gtest.h>

namespace geiger::holders {
namespace {

TEST(BlockMap, FindsBlocksByAnyByte) {
  BlockMap map;
  Area& high = map.add({0x20000, 0x21000});
  high.add(0x20010);
  Area& low = map.add({0x10000, 0x12000});
  for (const Address start : {0x10010, 0x10040, 0x11ff0}) low.add(start);
  low.set_free(0x10040);
  map.index();
  EXPECT_EQ(map.blocks(), 4U);
  EXPECT_FALSE(map.block_at(0x10000));
  EXPECT_FALSE(map.block_at(0x15000));
  ASSERT_TRUE(map.block_at(0x1003f));
  EXPECT_EQ(map.block_at(0x1003f)->start, 0x10010U);
  EXPECT_EQ(map.block_at(0x10010)->number, 0U);
  EXPECT_TRUE(map.block_at(0x10fff)->is_free);
  map.finish();
  EXPECT_TRUE(map.block_at(0x10fff)->is_free);
  EXPECT_FALSE(map.block_at(0x1003f)->is_free);
  EXPECT_EQ(map.block_at(0x11ff8)->number, 2U);
  EXPECT_EQ(map.block_at(0x20fff)->number, 3U);
  EXPECT_EQ(map.end_of(*map.block_at(0x10010)), 0x10040U);
  EXPECT_EQ(map.end_of(*map.block_at(0x20010)), 0x21000U);
  for (std::uint32_t i = 0; i < map.blocks(); ++i) {
    EXPECT_EQ(map.block_at(map.start_of(i))->number, i);
  }
}

TEST(BlockMap, FindsTheStartOfABlockThatIsFarAway) {
  BlockMap map;
  Area& area = map.add({0x10000, 0x10000 + 0x100000});
  area.add(0x18000);
  area.add(0x100000);
  map.index();
  EXPECT_FALSE(map.block_at(0x17ff0)) << "before the first";
  for (const Address at : {0x18000, 0x18400, 0x1c000, 0x1c400, 0xfffff}) {
    EXPECT_EQ(map.block_at(at)->start, 0x18000U);
  }
  EXPECT_EQ(map.block_at(0x10ffff)->number, 1U);
}

TEST(BlockMap, RemovesWhatASampleCovers) {
  BlockMap map;
  Area& area = map.add({0x10000, 0x20000});
  for (Address at = 0x10000; at < 0x20000; at += 16) area.add(at);
  area.remove_all(0x10010, 0x1fff0);
  area.add(0x10010);
  map.index();
  EXPECT_EQ(map.blocks(), 3U);
  EXPECT_EQ(map.block_at(0x1ffe0)->start, 0x10010U);
}

}  // namespace
}  // namespace geiger::holders
