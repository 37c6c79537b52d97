#include "analysis/holders/marker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/holders/test_memory.h"

namespace geiger::holders {
namespace {

/// Blocks of 64 bytes: block i begins at kHeap + 64 i.
constexpr Address kHeap = 0x100000;
Address block(unsigned i) { return kHeap + 64 * i; }

class Marking : public testing::Test {
 protected:
  explicit Marking(unsigned blocks = 16) {
    Area& area = map_.add({kHeap, kHeap + 64 * blocks});
    for (unsigned i = 0; i < blocks; ++i) area.add(block(i));
  }
  void point(unsigned from, unsigned to, Bytes offset = 0) {
    memory_.words[block(from) + offset] = block(to);
  }
  Marker& mark(const std::vector<std::tuple<std::uint64_t, RootGroup, Holds>>& roots) {
    map_.index();
    marker_.emplace(
        map_, memory_, rules_, [] { return true; },
        [](RootGroup a, RootGroup b) { return a == b || (a > 100 && a / 100 == b / 100); },
        late_at_);
    Address at = 0x1000;
    for (const auto& [word, group, holds] : roots) {
      marker_->root(word, at += 8, holds, [group = group](Address) { return group; });
    }
    EXPECT_TRUE(marker_->run());
    return *marker_;
  }

  BlockMap map_;
  MarkingRules rules_;
  TestMemory memory_;
  Marker::LateAt late_at_;
  std::optional<Marker> marker_;
};

TEST_F(Marking, GroupsOfOneStackCountAsOne) {
  point(0, 3);
  const Marker& marker = mark({{block(0), 101, Holds::kForAWhile},
                               {block(0), 102, Holds::kForAWhile},
                               {block(1), 101, Holds::kForAWhile},
                               {block(1), 201, Holds::kForAWhile}});
  EXPECT_EQ(marker.group_of(0), 101U) << "the first of them";
  EXPECT_TRUE(marker.is_alone(0));
  EXPECT_TRUE(marker.is_alone(3));
  EXPECT_FALSE(marker.is_alone(1)) << "of two stacks";
}

/// 8 was free. Its block leads to another one there, and that to 1, which leads to 2.
TEST_F(Marking, FollowsBlocksThatCameIntoUse) {
  map_.areas().front().set_free(block(8));
  map_.areas().front().remove(block(9));
  point(8, 9);
  point(9, 1);
  point(1, 2);
  late_at_ = [](Address target, Span free) {
    EXPECT_EQ(free.start, block(8));
    EXPECT_EQ(free.end, block(10));
    const Address start = target / 64 * 64;
    return std::optional(Span{start, start + 64});
  };
  const Marker& marker =
      mark({{block(8) + 24, 3, Holds::kFirmly}, {block(2), 4, Holds::kForAWhile}});
  EXPECT_EQ(marker.group_of(1), 3U);
  EXPECT_TRUE(marker.parent_of(1).is_root);
  EXPECT_EQ(marker.parent_of(1).root, 0x1008U);
  EXPECT_EQ(marker.group_of(2), 3U) << "rather than a stack";
  EXPECT_TRUE(marker.is_alone(2));
  late_at_ = {};
  EXPECT_FALSE(mark({{block(8), 3, Holds::kFirmly}}).is_reached(1));
}

TEST_F(Marking, AWindowReadsWhatComesBeforeABlock) {
  point(0, 3, 48);  // Of the block before the one that is held.
  const auto is_reached = [&] { return mark({{block(1), 0, Holds::kFirmly}}).is_reached(3); };
  EXPECT_FALSE(is_reached());
  rules_.window = 16;
  EXPECT_TRUE(is_reached());
}

TEST_F(Marking, FollowsAnyByteAndTaggedPointers) {
  memory_.words[block(0) + 8] = block(1) + 63;
  memory_.words[block(1) + 56] = block(2) | std::uint64_t{0xab} << 56;
  const Marker& marker = mark({{block(0) + 5, 3, Holds::kFirmly}});
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_TRUE(marker.is_reached(i)) << i;
    EXPECT_EQ(marker.group_of(i), 3U);
    EXPECT_TRUE(marker.is_alone(i));
  }
  EXPECT_FALSE(marker.is_reached(3));
  EXPECT_EQ(marker.parent_of(2).block, 1U);
  EXPECT_TRUE(marker.parent_of(0).is_root);
  EXPECT_EQ(marker.parent_of(0).root, 0x1008U);
}

TEST_F(Marking, SaysWhatOneGroupHoldsAlone) {
  // 1 holds 0 -> 2, 2 holds 1 -> 2 -> 3; 4 is a cycle with 5.
  point(0, 2);
  point(1, 2);
  point(2, 3);
  point(4, 5);
  point(5, 4);
  const Marker& marker = mark({{block(0), 1, Holds::kFirmly}, {block(1), 2, Holds::kFirmly}});
  EXPECT_TRUE(marker.is_alone(0));
  EXPECT_TRUE(marker.is_alone(1));
  EXPECT_FALSE(marker.is_alone(2));
  EXPECT_FALSE(marker.is_alone(3)) << "what is behind it too";
  EXPECT_EQ(marker.group_beside(1), std::optional<RootGroup>(2)) << "which came later to block 2";
  EXPECT_EQ(marker.group_beside(2), std::nullopt);
  EXPECT_FALSE(marker.is_reached(4));
  EXPECT_FALSE(marker.is_reached(5));
}

TEST_F(Marking, StacksHoldOnlyWhatNothingElseDoes) {
  point(0, 1);
  point(2, 3);
  const Marker& marker = mark({{block(1), 7, Holds::kForAWhile},
                               {block(3), 7, Holds::kForAWhile},
                               {block(4), 7, Holds::kForAWhile},
                               {block(0), 1, Holds::kFirmly},
                               {block(2), 1, Holds::kFirmly}});
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(marker.group_of(i), 1U) << i;
    EXPECT_TRUE(marker.is_alone(i)) << i;
  }
  EXPECT_EQ(marker.parent_of(1).block, 0U);
  EXPECT_EQ(marker.group_of(4), 7U);
}

TEST_F(Marking, FreeBlocksHoldNothing) {
  point(0, 1);
  map_.areas()[0].set_free(block(0));
  const Marker& marker = mark({{block(0), 0, Holds::kFirmly}});
  EXPECT_FALSE(marker.is_reached(0));
  EXPECT_FALSE(marker.is_reached(1));
}

class LongList : public Marking {
 protected:
  static constexpr unsigned kNodes = 200'000;
  LongList() : Marking(kNodes) {}
};

TEST_F(LongList, OfAnyLengthAndMoreRootsThanTheQueueHas) {
  for (unsigned i = kNodes / 2; i + 1 < kNodes; ++i) point(i, i + 1);
  std::vector<std::tuple<std::uint64_t, RootGroup, Holds>> roots;
  for (unsigned i = 0; i <= kNodes / 2; ++i) roots.emplace_back(block(i), 0, Holds::kFirmly);
  const Marker& marker = mark(roots);
  for (unsigned i = 0; i < kNodes; ++i) ASSERT_TRUE(marker.is_reached(i)) << i;
}

TEST_F(LongList, EndedEarlyItSaysSo) {
  for (unsigned i = 0; i + 1 < kNodes; ++i) point(i, i + 1);
  map_.index();
  Marker marker(map_, memory_, {}, [left = 10]() mutable { return left-- > 0; });
  marker.root(block(0), 0x1000, Holds::kFirmly, [](Address) { return RootGroup{0}; });
  EXPECT_FALSE(marker.run());
  EXPECT_FALSE(marker.is_reached(kNodes - 1));
}

TEST(PageCache, ReadsWhatItsMemoryHas) {
  TestMemory memory;
  for (Address at = 0; at < 64 * kKiB; at += 8) memory.words[kHeap + at] = kHeap + 3 * at;
  PageCache cache(memory, 4);
  const auto check = [&](const std::vector<Piece>& pieces) {
    Bytes total = 0;
    for (const Piece& piece : pieces) total += piece.bytes;
    std::vector<std::byte> wanted(total), found(total);
    memory.read(pieces, wanted.data());
    cache.read(pieces, found.data());
    EXPECT_EQ(wanted, found);
  };
  for (unsigned i = 0; i < 1000; ++i) {  // One at a time, in order and not.
    check({{kHeap + 64 * i, 64}});
    check({{kHeap + 64 * (999 - i), 64}});
    check({{kHeap + 64 * (i * 7919 % 1000), 128}});
  }
  check({{kHeap + 4000, 200}, {kHeap + 104, 16}, {kHeap + 8192 * 3, 8192}});
  std::vector<Piece> many;
  for (unsigned i = 0; i < 300; ++i) many.push_back({kHeap + 160 * i + i * i % 128 / 8 * 8, 24});
  check(many);
  std::ranges::reverse(many);
  check(many);
}

}  // namespace
}  // namespace geiger::holders
