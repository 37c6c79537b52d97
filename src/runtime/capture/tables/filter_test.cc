#include "runtime/capture/tables/filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/capture/tables/live_table.h"

namespace geiger::capture {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{1} << Filter::kLog2BlockBytes;

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

/// Live table and filter, used as the runtime does.
struct Samples {
  Filter filter;
  LiveTable live;

  Samples() { filter.start(); }

  void insert(std::uint64_t address) {
    ASSERT_TRUE(live.insert(address, 1));
    filter.add(pointer(address));
    if (filter.is_too_small(live.size())) grow();
  }
  bool take(std::uint64_t address) {
    if (!filter.maybe_holds(pointer(address))) return false;
    const std::size_t mask = filter.mask();
    if (live.take(address) == 0) return false;
    filter.remove(pointer(address), mask);
    return true;
  }
  void grow() {
    filter.grow([this](const auto& visit) { live.for_each(visit); });
  }
};

/// Addresses that all fall on slot 0 at the least size and not at later ones, except
/// where n is a multiple of the growth.
std::uint64_t beyond_least(std::uint64_t n) { return n * Filter::kLeastSlots * kBlock; }

TEST(Filter, HoldsNothingWhenZeroInitialised) {
  const auto filter = std::make_unique<Filter>();
  EXPECT_FALSE(filter->maybe_holds(nullptr));
  EXPECT_FALSE(filter->maybe_holds(pointer(0x7fff12345670)));
}

TEST(Filter, HoldsWhatWasAddedUntilItIsRemoved) {
  const auto samples = std::make_unique<Samples>();
  samples->insert(4096);
  samples->insert(4112);  // In the same 256 bytes.
  EXPECT_TRUE(samples->filter.maybe_holds(pointer(4096)));
  EXPECT_FALSE(samples->filter.maybe_holds(pointer(4096 + kBlock)));
  EXPECT_TRUE(samples->take(4096));
  EXPECT_TRUE(samples->filter.maybe_holds(pointer(4112)));
  EXPECT_TRUE(samples->take(4112));
  EXPECT_FALSE(samples->filter.maybe_holds(pointer(4112)));
}

// The front confuses the two; the wide table distinguishes them.
TEST(Filter, TellsApartWhatSharesASlotOfTheFront) {
  constexpr std::uint64_t kFrontBytes = kBlock << Filter::kLog2FrontSlots;
  const auto samples = std::make_unique<Samples>();
  samples->insert(4096);
  EXPECT_TRUE(samples->filter.maybe_holds(pointer(4096 + kFrontBytes))) << "it begins smaller";
  samples->grow();
  EXPECT_FALSE(samples->filter.maybe_holds(pointer(4096 + kFrontBytes)));
  EXPECT_TRUE(samples->filter.maybe_holds(pointer(4096)));
  samples->insert(4096 + kFrontBytes);
  EXPECT_TRUE(samples->take(4096));
  EXPECT_TRUE(samples->take(4096 + kFrontBytes));
}

// Two functions compute the front's slot: that of free, and that of adding and removing samples.
TEST(Filter, FindsAddressesOfAnyBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto samples = std::make_unique<Samples>();
    const std::uint64_t address = (random() | 1) >> (17 + i % 40) | 1;
    samples->insert(address);
    EXPECT_TRUE(samples->take(address)) << address;
    EXPECT_FALSE(samples->filter.maybe_holds(pointer(address)));
  }
}

TEST(Filter, AMarkThatReached255Stays) {
  const auto filter = std::make_unique<Filter>();
  filter->start();
  for (int i = 0; i < 300; ++i) filter->add(pointer(4096));
  for (int i = 0; i < 300; ++i) filter->remove(pointer(4096), filter->mask());
  EXPECT_TRUE(filter->maybe_holds(pointer(4096)));
}

TEST(Filter, GrowsWithTheLiveSamplesAndFindsTheEarlierOnes) {
  const auto samples = std::make_unique<Samples>();
  constexpr std::uint64_t kCount = Filter::kMostSlots / Filter::kSlotsPerSample * 2;
  for (std::uint64_t i = 1; i <= kCount; ++i) samples->insert(i * 4096);
  EXPECT_EQ(samples->filter.mask(), Filter::kMostSlots - 1);
  EXPECT_FALSE(samples->filter.is_too_small(kCount * 10));
  std::uint64_t missed = 0;
  for (std::uint64_t i = 1; i <= kCount; ++i) missed += samples->take(i * 4096) ? 0 : 1;
  EXPECT_EQ(missed, 0U);
}

TEST(Filter, GrowsExactlyAboveItsDensity) {
  const auto filter = std::make_unique<Filter>();
  filter->start();
  constexpr std::size_t kFits = Filter::kLeastSlots / Filter::kSlotsPerSample;
  EXPECT_FALSE(filter->is_too_small(kFits));
  EXPECT_TRUE(filter->is_too_small(kFits + 1));
}

// An address that leaves while the filter grows is not marked for the new size: the
// mark taken back is that of the size read before it left, never a neighbour's.
TEST(Filter, TakesNoNeighboursMarkBackWhenItGrewMeanwhile) {
  const auto samples = std::make_unique<Samples>();
  const std::uint64_t leaving = beyond_least(1);
  // In the same slot before and after the growth.
  const std::uint64_t staying = beyond_least(1 + Filter::kLeastGrown / Filter::kLeastSlots);
  samples->insert(leaving);
  samples->insert(staying);
  const std::size_t mask = samples->filter.mask();
  ASSERT_NE(samples->live.take(leaving), 0U);
  samples->grow();
  samples->filter.remove(pointer(leaving), mask);
  EXPECT_TRUE(samples->take(staying));
}

// The scan has passed: only the insertion itself can mark for the new size.
TEST(Filter, MarksForBothSizesWhileItGrows) {
  const auto samples = std::make_unique<Samples>();
  samples->filter.grow([&samples](const auto& visit) {
    samples->live.for_each(visit);
    samples->insert(beyond_least(1));
    EXPECT_TRUE(samples->filter.maybe_holds(pointer(beyond_least(1))));
  });
  EXPECT_TRUE(samples->take(beyond_least(1)));
}

// A growth that was overtaken ends after the next one began.
TEST(Filter, AnOvertakenGrowthDoesNotHideTheLaterOne) {
  const auto samples = std::make_unique<Samples>();
  samples->filter.grow([&samples](const auto&) {
    samples->grow();  // Another thread does the same work,
    samples->grow();  // and the next size as well.
    EXPECT_EQ(samples->filter.mask() + 1, Filter::kLeastGrown * Filter::kGrowth);
  });
  EXPECT_EQ(samples->filter.mask() + 1, Filter::kLeastGrown * Filter::kGrowth);
  samples->insert(beyond_least(5));
  EXPECT_TRUE(samples->take(beyond_least(5)));
}

struct Left {};

TEST(Filter, AGrowthThatWasLeftIsDoneAgainWhenTwiceAsManyLive) {
  const auto samples = std::make_unique<Samples>();
  constexpr std::size_t kFits = Filter::kLeastSlots / Filter::kSlotsPerSample;
  samples->insert(beyond_least(1));
  EXPECT_THROW(samples->filter.grow([](const auto&) { throw Left{}; }), Left);
  EXPECT_EQ(samples->filter.mask(), Filter::kLeastSlots - 1);
  samples->insert(beyond_least(3));  // Marked for both sizes.
  EXPECT_FALSE(samples->filter.is_too_small(kFits * 2));
  EXPECT_TRUE(samples->filter.is_too_small(kFits * 2 + 1));
  samples->grow();
  EXPECT_EQ(samples->filter.mask(), Filter::kLeastGrown - 1);
  EXPECT_TRUE(samples->take(beyond_least(1)));
  EXPECT_TRUE(samples->take(beyond_least(3)));
}

/// Addresses on their way from the thread that inserted them to the one that frees.
class HandOver {
 public:
  explicit HandOver(std::size_t count) : places_(count) {}
  void put(std::size_t i, std::uint64_t address) {
    places_[i].store(address, std::memory_order_release);
  }
  std::uint64_t wait_for(std::size_t i) {
    for (;;) {
      const std::uint64_t address = places_[i].load(std::memory_order_acquire);
      if (address != 0) return address;
      std::this_thread::yield();
    }
  }

 private:
  std::vector<std::atomic<std::uint64_t>> places_;
};

/// Inserts and hands over; frees one in four at once.
void insert_many(Samples& samples, HandOver& out, std::uint64_t salt, std::size_t count,
                 std::atomic<int>& missed) {
  std::mt19937_64 random(salt);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t address = (i * 4 + salt + 1) << 12 | (random() % 256) << 4;
    samples.insert(address);
    const std::uint64_t own = address + (std::uint64_t{1} << 46);
    if (i % 4 == 0) {
      samples.insert(own);
      missed += samples.take(own) ? 0 : 1;
    }
    out.put(i, address);
  }
}

/// Stays `kBehind` addresses behind, so that this many are live and the filter must grow.
void free_all(Samples& samples, HandOver& in, std::size_t count, std::atomic<int>& missed) {
  constexpr std::size_t kBehind = 6000;
  for (std::size_t i = 0; i < count; ++i) {
    in.wait_for(std::min(i + kBehind, count - 1));
    missed += samples.take(in.wait_for(i)) ? 0 : 1;
  }
}

// The invariant of filter.h, with two growths in every round.
TEST(Filter, NeverMissesALiveSampleWhileItGrowsUnderThreads) {
  constexpr std::size_t kCount = 12'000;
  constexpr std::uint64_t kPairs = 2;
  std::atomic<int> missed{0};
  for (int round = 0; round < 40; ++round) {
    const auto samples = std::make_unique<Samples>();
    std::vector<std::unique_ptr<HandOver>> ways;
    std::vector<std::thread> threads;
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
      HandOver& way = *ways.emplace_back(std::make_unique<HandOver>(kCount));
      threads.emplace_back([&, pair] { insert_many(*samples, way, pair, kCount, missed); });
      threads.emplace_back([&] { free_all(*samples, way, kCount, missed); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(samples->live.size(), 0U);
    EXPECT_GE(samples->filter.mask() + 1, Filter::kLeastGrown);
  }
  EXPECT_EQ(missed.load(), 0);
}

}  // namespace
}  // namespace geiger::capture
