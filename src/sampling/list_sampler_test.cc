// The exact properties of the list sampler at its limits. The coupling_test compares its samples
// with trials of every byte, the stat_test tests the distribution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "sampling/samplers.h"
#include "sampling/test_list_heap.h"

namespace geiger::sampling::list_sampler_test {
namespace {

using Kind = Verdict::Kind;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

// Blocks handed out are counted exactly at every moment, and do not depend on what is sampled.
// Catches a decision that moves objects, and counts that lose a block.
TEST(ListSampler, SamplingMovesNoObjectAndTotalsAreExact) {
  std::vector<ListHeap> heaps;
  for (const std::uint64_t interval : {0, 1, 64, 4096})
    heaps.emplace_back(interval, interval, true);
  Xoshiro256pp random(7);
  std::uint64_t handed_out[kClasses]{};
  std::vector<std::pair<std::uint64_t, std::uint32_t>> live;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t size = random.next() % (kLargestSize + 1);
    const std::uint32_t block = heaps[0].allocate(size).block;
    ++handed_out[class_of(size)];
    live.emplace_back(size, block);
    for (std::size_t h = 1; h < heaps.size(); ++h) ASSERT_EQ(heaps[h].allocate(size).block, block);
    while (live.size() > 3000 - random.next() % 1000) {
      for (ListHeap& heap : heaps) heap.free(live.back().first, live.back().second);
      live.pop_back();
    }
    for (const ListHeap& heap : heaps) {
      const std::size_t index = class_of(size);
      ASSERT_EQ(heap.list(index).handed_out(), handed_out[index]);
      ASSERT_EQ(heap.list(index).listed(), heap.listed(index));
    }
  }
}

TEST(ListSampler, IsNeverWhenZeroInitialised) {
  static constinit ListSampler sampler;
  static constinit SampledList list;
  EXPECT_TRUE(list.is_used_up());
  EXPECT_FALSE(list.take());
  EXPECT_EQ(sampler.decide(list, 1).kind, Kind::kNotSampled);
  EXPECT_EQ(list.handed_out(), 0U);
  sampler.install(list, 10);
  EXPECT_EQ(list.left, 10);
  EXPECT_EQ(sampler.decide(list, 1).kind, Kind::kNotSampled);
  EXPECT_TRUE(list.take());
  EXPECT_EQ(list.handed_out(), 2U);
}

TEST(ListSampler, NeverLeavesListsUncut) {
  ListSampler sampler = started_lists(1, 0, false);
  SampledList list = opened(sampler, 16);
  for (int i = 0; i < 1000; ++i) {
    sampler.install(list, 100);
    ASSERT_EQ(list.left, 100);
    for (int j = 0; j < 99; ++j) ASSERT_TRUE(list.take());
    ASSERT_EQ(sampler.decide(list, 16).kind, Kind::kNotSampled);
  }
  EXPECT_EQ(list.handed_out(), 100000U);
  sampler.change_interval(&list, 1, 1, rate_of(1));
  sampler.install(list, 2);
  EXPECT_FALSE(list.take());
  EXPECT_EQ(sampler.decide(list, 16).kind, Kind::kCertain);
  sampler.change_interval(&list, 1, 0, rate_of(0));
  EXPECT_TRUE(list.take());
}

// There are no samples with "never", even after more bytes than K can count.
TEST(ListSampler, NeverEndsInNoSample) {
  ListSampler sampler = started_lists(1, 0, true);
  SampledList list = opened(sampler, 16);
  sampler.install(list, 2);
  set_skip_count(sampler, list, 3);
  EXPECT_EQ(sampler.decide(list, 16).kind, Kind::kNotSampled);
  EXPECT_EQ(list.left, 1);
}

TEST(ListSampler, IntervalOneTakesEveryRequest) {
  for (const bool pure : {false, true}) {
    ListSampler sampler = started_lists(1, 1, pure);
    SampledList list = opened(sampler, 64);
    sampler.install(list, 65);
    for (std::uint64_t size = 0; size <= 64; ++size) {
      ASSERT_FALSE(list.take());
      const Verdict verdict = sampler.decide(list, size);
      ASSERT_EQ(verdict.kind, pure || size == 0 ? Kind::kSampled : Kind::kCertain) << size;
      ASSERT_EQ(verdict.offset, 0U);
    }
  }
}

// Sizes T - 1, T, T + 1 in one class. Catches `size > T`, and a class of blocks of T bytes without
// decisions.
TEST(ListSampler, RequestsOfAtLeastTheIntervalAreCertain) {
  constexpr std::uint64_t kInterval = 64;
  for (const std::uint64_t block_size : {kInterval, kInterval + 1}) {
    ListSampler sampler = started_lists(1, kInterval, false);
    SampledList list = opened(sampler, block_size);
    set_skip_count(sampler, list, 1000);
    sampler.install(list, 3);
    EXPECT_EQ(list.left, 0);
    EXPECT_EQ(sampler.decide(list, kInterval - 1).kind, Kind::kNotSampled);
    EXPECT_EQ(sampler.decide(list, kInterval).kind, Kind::kCertain);
    EXPECT_EQ(sampler.decide(list, block_size).kind, Kind::kCertain);
    EXPECT_EQ(list.skip, 1000 - block_size);
  }
}

// The lists of the shared heap of threads without a heap: no take() succeeds, after any number of
// calls. Catches a test for "was not 0".
TEST(ListSampler, TheSharedHeapHandsOutNothing) {
  SampledList list;
  list.left = SampledList::kNoHeap;
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(list.take());
  EXPECT_TRUE(list.is_used_up());
  EXPECT_EQ(list.handed_out(), 0U);
}

// A slow path that found no memory leaves a count below 0.
TEST(ListSampler, TakesThatFailedAreNotCounted) {
  ListSampler sampler = started_lists(1, 1000, true);
  SampledList list = opened(sampler, 16);
  set_skip_count(sampler, list, 40);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(list.take());
  EXPECT_EQ(sampler.decide(list, 16).kind, Kind::kNotSampled);
  EXPECT_EQ(list.handed_out(), 0U);
  sampler.install(list, 4);
  EXPECT_EQ(list.left, 2);
  EXPECT_EQ(list.skip, 8U);
  EXPECT_EQ(list.reserve, 2U);
}

// Catches an old K kept in lists that are not cut, which is biased, and an order of draws that
// depends on what lists contain.
TEST(ListSampler, AnotherIntervalRedrawsAllLists) {
  constexpr std::uint64_t kCounts[] = {0, 1, 10, 100000};
  ListSampler sampler = started_lists(3, 1 << 20, true);
  SampledList lists[4];
  for (int i = 0; i < 4; ++i) {
    sampler.open(lists[i], 16);
    sampler.install(lists[i], kCounts[i]);
  }
  sampler.change_interval(lists, 4, 64, rate_of(64));
  Xoshiro256pp generator(3);
  for (int i = 0; i < 4; ++i) generator.next();
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t skip_count = skip_count_of(generator.next(), rate_of(64));
    const std::uint64_t left = std::min(kCounts[i], skip_count / 16);
    EXPECT_EQ(static_cast<std::uint64_t>(lists[i].left), left);
    EXPECT_EQ(lists[i].skip, skip_count - left * 16);
    EXPECT_EQ(lists[i].reserve, kCounts[i] - left);
    EXPECT_EQ(lists[i].handed_out(), 0U);
  }
}

// Catches a child that keeps some pending K, or the generator.
TEST(ListSampler, ReseedingReplacesGeneratorAndEveryDistance) {
  ListSampler sampler = started_lists(1, 1 << 20, true);
  SampledList lists[2];
  for (SampledList& list : lists) sampler.open(list, 16);
  sampler.install(lists[0], 3);
  sampler.reseed(lists, 2, 2);
  ListSampler other = started_lists(2, 1 << 20, true);
  for (const SampledList& list : lists) {
    const SampledList fresh = opened(other, 16);
    EXPECT_EQ(list.skip + static_cast<std::uint64_t>(list.left) * 16, fresh.skip);
  }
  EXPECT_EQ(lists[0].listed(), 3U);
}

TEST(ListSampler, ClosedListsAreNotDrawn) {
  ListSampler sampler = started_lists(1, 64, true);
  SampledList lists[2];
  sampler.open(lists[1], 16);
  sampler.reseed(lists, 2, 5);
  ListSampler other = started_lists(5, 64, true);
  EXPECT_EQ(lists[1].skip, opened(other, 16).skip);
  EXPECT_EQ(lists[0].left, 0);
}

// The largest K, sizes and counts. Catches products that wrap.
TEST(ListSampler, LargestDistanceIsCutWithoutWrapping) {
  const ListSampler sampler = started_lists(1, 64, true);
  for (const std::uint64_t block_size : {std::uint64_t{1}, std::uint64_t{3}, kHuge}) {
    SampledList list;
    list.block_size = block_size;
    set_skip_count(sampler, list, kHuge);
    sampler.install(list, 1000);
    EXPECT_EQ(list.left, block_size == kHuge ? 1 : 1000);
    EXPECT_EQ(list.skip + static_cast<std::uint64_t>(list.left) * block_size, kHuge);
  }
}

}  // namespace
}  // namespace geiger::sampling::list_sampler_test
