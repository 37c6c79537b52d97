#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <random>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/test_refusal.h"
#include "base/units.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/tables/live_table.h"
#include "runtime/capture/tables/number_table.h"

namespace geiger::capture {
namespace {

/// Calls body(0) to body(3) in a thread each; returns the sum of their failures.
template <typename Body>
int failures_in_threads(const Body& body) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&failures, &body, t] { failures += body(t); });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

int fill_blocks_with(unsigned char mark) {
  int failures = 0;
  std::vector<std::span<unsigned char>> blocks;
  for (std::size_t size = 1; size <= 500; ++size) {
    auto* start = static_cast<unsigned char*>(arena_allocate(size));
    if (start == nullptr) return failures + 1;
    failures += reinterpret_cast<std::uintptr_t>(start) % 64 != 0;
    const std::span block(start, size);
    for (const unsigned char byte : block) failures += byte != 0;
    std::ranges::fill(block, mark);
    blocks.push_back(block);
  }
  for (const auto block : blocks) {
    for (const unsigned char byte : block) failures += byte != mark;
  }
  return failures;
}

TEST(Arena, GivesZeroedDistinctAlignedMemory) {
  const auto fill = [](unsigned t) { return fill_blocks_with(static_cast<unsigned char>(t + 1)); };
  EXPECT_EQ(failures_in_threads(fill), 0);
}

TEST(LiveTable, AgreesWithAMapOverRandomOperations) {
  static constinit LiveTable table;
  std::unordered_map<std::uint64_t, std::uint64_t> truth;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t address = (random() % 30'000 + 1) * 16;
    if (const auto found = truth.find(address); found != truth.end()) {
      ASSERT_EQ(table.take(address), found->second);
      truth.erase(found);
    } else {
      ASSERT_EQ(table.take(address), 0U);
      ASSERT_TRUE(table.insert(address, random() | 1));
      truth[address] = 0;
      truth[address] = table.take(address);
      ASSERT_TRUE(table.insert(address, truth[address]));
    }
  }
  EXPECT_EQ(table.size(), truth.size());
  for (const auto& [address, value] : truth) EXPECT_EQ(table.take(address), value);
  EXPECT_EQ(table.size(), 0U);
}

TEST(LiveTable, NullIsNeverInIt) {
  static constinit LiveTable table;
  EXPECT_EQ(table.take(0), 0U);
  ASSERT_TRUE(table.insert(16, 1));
  EXPECT_EQ(table.take(0), 0U);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.take(16), 1U);
}

TEST(LiveTable, HoldsAMillionAndDrains) {
  static constinit LiveTable table;
  constexpr std::uint64_t kCount = 1'000'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) ASSERT_TRUE(table.insert(i * 48, i));
  EXPECT_EQ(table.size(), kCount);
  for (std::uint64_t i = kCount; i >= 1; --i) ASSERT_EQ(table.take(i * 48), i);
  EXPECT_EQ(table.size(), 0U);
}

Bytes resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  Bytes pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

/// Memory mapped since `before`, in bytes per entry.
double bytes_each(Bytes before, std::size_t entries) {
  const Bytes now = resident_bytes();
  return now < before ? 0 : static_cast<double>(now - before) / static_cast<double>(entries);
}

// The bound that docs/guide/long-runs.md states, and a page of slack for everything else.
constexpr double kMostBytesEach = 60;

TEST(LiveTable, TakesNoMoreForEntriesThatReplaceEachOther) {
  if (base::kIsSanitized) GTEST_SKIP() << "resident bytes are the sanitizer's too";
  static constinit LiveTable table;
  constexpr std::uint64_t kLive = 600'000;
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> live(kLive);
  std::ranges::fill(live, 0U);
  const Bytes before = resident_bytes();
  for (std::uint64_t i = 0; i < kLive * 6; ++i) {
    std::uint64_t& place = live[random() % kLive];
    if (place != 0) {
      ASSERT_NE(table.take(place), 0U);
    }
    place = (i + 1) * 48;
    ASSERT_TRUE(table.insert(place, i + 1));
  }
  EXPECT_LT(bytes_each(before, table.size()), kMostBytesEach);
}

TEST(LiveTable, GivesItsPagesBackWhenItEmptiesAndTakesThemAgain) {
  if (base::kIsSanitized) GTEST_SKIP() << "resident bytes are the sanitizer's too";
  static constinit LiveTable table;
  constexpr std::uint64_t kCount = 1'000'000;
  const Bytes before = resident_bytes();
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 1; i <= kCount; ++i) ASSERT_TRUE(table.insert(i * 48, i));
    EXPECT_LT(bytes_each(before, kCount), kMostBytesEach);
    for (std::uint64_t i = 1; i <= kCount; ++i) ASSERT_EQ(table.take(i * 48), i);
    EXPECT_LT(bytes_each(before, kCount), 1.0);
    table.for_each([](std::uint64_t address, std::uint64_t) { ADD_FAILURE() << address; });
  }
}

int fill_and_empty(LiveTable& table, unsigned first) {
  int failures = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    const std::uint64_t count = 2'000 + 997 * (round % 7);
    for (std::uint64_t i = 1; i <= count; ++i) failures += !table.insert((i * 4 + first) * 16, i);
    for (std::uint64_t i = 1; i <= count; ++i) failures += table.take((i * 4 + first) * 16) != i;
  }
  return failures;
}

// Tables empty while other threads look for one to insert into.
TEST(LiveTable, LosesNothingWhileTablesAreGivenBack) {
  static constinit LiveTable table;
  const auto use = [](unsigned t) { return fill_and_empty(table, t); };
  EXPECT_EQ(failures_in_threads(use), 0);
  EXPECT_EQ(table.size(), 0U);
}

int insert_and_take_every_fourth(LiveTable& table, unsigned first) {
  int failures = 0;
  std::mt19937_64 random(first);
  std::vector<std::uint64_t> mine;
  std::uint64_t next = first;
  for (int i = 0; i < 100'000; ++i) {
    if (mine.size() > 300 || (!mine.empty() && random() % 2 == 0)) {
      std::swap(mine[random() % mine.size()], mine.back());
      failures += table.take(mine.back()) != mine.back() + 1;
      mine.pop_back();
    } else {
      next += 4;
      mine.push_back(next * 16);
      failures += !table.insert(next * 16, next * 16 + 1);
    }
  }
  for (const std::uint64_t address : mine) failures += table.take(address) != address + 1;
  return failures;
}

// Every thread owns its addresses, as every live block has one owner; entries of
// different threads share buckets.
TEST(LiveTable, KeepsThreadsApart) {
  static constinit LiveTable table;
  const auto use = [](unsigned t) { return insert_and_take_every_fourth(table, t); };
  EXPECT_EQ(failures_in_threads(use), 0);
  EXPECT_EQ(table.size(), 0U);
}

TEST(LiveTable, ExchangesOnlyWhatItStillHolds) {
  static constinit LiveTable table;
  EXPECT_FALSE(table.exchange(16, 1, 2));
  for (std::uint64_t i = 1; i <= 20'000; ++i) ASSERT_TRUE(table.insert(i * 16, i));
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    EXPECT_TRUE(table.exchange(i * 16, i, i + 1));
    EXPECT_FALSE(table.exchange(i * 16, i, 7));
    EXPECT_FALSE(table.exchange(i * 16 + (1U << 30), i, 7));
  }
  for (std::uint64_t i = 1; i <= 20'000; ++i) EXPECT_EQ(table.take(i * 16), i + 1);
  EXPECT_FALSE(table.exchange(16, 2, 3));  // Its tables are there, and empty.
}

// An entry taken between the test and the removal belongs to its owner.
TEST(LiveTable, RemovesOnlyWhatNobodyTakesMeanwhile) {
  static constinit LiveTable table;
  for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(table.insert(i * 16, i));
  std::size_t forgotten = 0;
  table.remove_if(
      [](std::uint64_t address, std::uint64_t value) {
        if (value % 3 == 0) {
          EXPECT_EQ(table.take(address), value);
        }
        return value % 3 != 1;
      },
      [&](std::uint64_t, std::uint64_t value) {
        EXPECT_EQ(value % 3, 2U);
        ++forgotten;
      });
  EXPECT_EQ(forgotten, 33U);
  EXPECT_EQ(table.size(), 34U);
  table.remove_if([](std::uint64_t, std::uint64_t) { return true; },
                  [](std::uint64_t, std::uint64_t) {});
  EXPECT_EQ(table.size(), 0U);
  table.remove_if([](std::uint64_t, std::uint64_t) { return true; },
                  [](std::uint64_t, std::uint64_t) { ADD_FAILURE(); });
}

// Addresses that share a home go to the following buckets, wrapping from the last to the first.
TEST(LiveTable, GoesRoundWhereBucketsAreFull) {
  static constinit LiveTable table;
  std::vector<std::uint64_t> crowd;
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
  for (std::uint64_t i = 1; crowd.size() < 60; ++i) {
    if ((i * kFactor >> 20 & 1023) >= 1022) crowd.push_back(i * 16);
  }
  for (const std::uint64_t address : crowd) ASSERT_TRUE(table.insert(address, address));
  for (const std::uint64_t address : crowd) EXPECT_TRUE(table.exchange(address, address, 5));
  for (const std::uint64_t address : crowd) EXPECT_EQ(table.take(address), 5U);
  for (const std::uint64_t address : crowd) EXPECT_EQ(table.take(address), 0U);
}

// Hand-over: one thread inserts, another takes.
TEST(LiveTable, FindsWhatAnotherThreadInserted) {
  static constinit LiveTable table;
  constexpr std::uint64_t kCount = 50'000;
  std::atomic<std::uint64_t> inserted{0};
  std::thread producer([&inserted] {
    for (std::uint64_t i = 1; i <= kCount; ++i) {
      ASSERT_TRUE(table.insert(i * 16, i));
      inserted.store(i, std::memory_order_release);
    }
  });
  int missing = 0;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    while (inserted.load(std::memory_order_acquire) < i) std::this_thread::yield();
    missing += table.take(i * 16) != i;
  }
  producer.join();
  EXPECT_EQ(missing, 0);
}

/// Few addresses in a few adjacent buckets, so that slots constantly change addresses.
constexpr std::uint64_t kChurned = 64;
constexpr std::uint64_t churned(unsigned thread, std::uint64_t i) {
  return (i % kChurned * 4 + thread + 1) << 4;
}
/// A different value for each insertion, which identifies its address.
constexpr std::uint64_t value_of(std::uint64_t address, std::uint64_t i) {
  return i << 32 | address;
}

// Memory orders, on processors with weak ones; tests/memory_order checks all of them.
TEST(LiveTable, VisitsNoAddressWithTheValueOfAnother) {
  static constinit LiveTable table;
  std::atomic<int> working{3};
  const int failures = failures_in_threads([&working](unsigned thread) {
    int wrong = 0;
    if (thread == 3) {
      do {
        table.for_each([&wrong](std::uint64_t address, std::uint64_t value) {
          wrong += value != 0 && (value & 0xffffffff) != address;
        });
      } while (working.load(std::memory_order_relaxed) != 0);
      return wrong;
    }
    for (std::uint64_t i = 1; i <= 100'000; ++i) {
      const std::uint64_t address = churned(thread, i);
      if (!table.insert(address, value_of(address, i))) ++wrong;
      wrong += table.take(address) != value_of(address, i);
    }
    --working;
    return wrong;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(table.size(), 0U);
}

TEST(LiveTable, VisitsEntriesWhoseValuesAreExchanged) {
  static constinit LiveTable table;
  constexpr std::uint64_t kLast = 3'000'000;
  for (unsigned thread = 0; thread < 3; ++thread) ASSERT_TRUE(table.insert((thread + 1) << 4, 1));
  std::atomic<int> working{3};
  const int failures = failures_in_threads([&working](unsigned thread) {
    int wrong = 0;
    if (thread < 3) {
      for (std::uint64_t value = 1; value < kLast; ++value) {
        wrong += !table.exchange((thread + 1) << 4, value, value + 1);
      }
      --working;
      return wrong;
    }
    do {
      int seen = 0;
      table.for_each([&seen](std::uint64_t, std::uint64_t value) { seen += value != 0; });
      wrong += seen != 3;
    } while (working.load(std::memory_order_relaxed) != 0);
    return wrong;
  });
  EXPECT_EQ(failures, 0);
}

/// As a free does while another thread carries the sample into the next segment.
TEST(LiveTable, TakesEntriesWhoseValuesAreExchanged) {
  static constinit LiveTable table;
  constexpr std::uint64_t kRounds = 300'000;
  static std::atomic<std::uint64_t> current[2];
  std::atomic<int> working{2};
  const int failures = failures_in_threads([&working](unsigned thread) {
    const std::uint64_t address = (thread % 2 + 1) << 4;
    std::atomic<std::uint64_t>& value = current[thread % 2];
    int wrong = 0;
    if (thread < 2) {
      for (std::uint64_t own = 2; own < 2 * kRounds; own += 2) {
        wrong += !table.insert(address, own);
        value.store(own, std::memory_order_relaxed);
        const std::uint64_t taken = table.take(address);
        wrong += taken != own && taken != own + 1;
      }
      --working;
      return wrong;
    }
    while (working.load(std::memory_order_relaxed) != 0) {
      const std::uint64_t seen = value.load(std::memory_order_relaxed);
      if (seen != 0) table.exchange(address, seen, seen + 1);
    }
    return wrong;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(table.size(), 0U);
}

TEST(LiveTable, EndsEachEntryOnceWhileOthersAreRemoved) {
  static constinit LiveTable table;
  std::atomic<int> working{3};
  std::atomic<std::uint64_t> ended{0};
  constexpr std::uint64_t kEach = 100'000;
  const int failures = failures_in_threads([&](unsigned thread) {
    int wrong = 0;
    if (thread == 3) {
      do {
        table.remove_if([](std::uint64_t, std::uint64_t value) { return value >> 32 & 1; },
                        [&](std::uint64_t address, std::uint64_t value) {
                          wrong += (value & 0xffffffff) != address;
                          ++ended;
                        });
      } while (working.load(std::memory_order_relaxed) != 0);
      return wrong;
    }
    for (std::uint64_t i = 1; i <= kEach; ++i) {
      // No address is used again: remove_if() may lose one that is.
      const std::uint64_t address = (i * 4 + thread + 1) << 4;
      if (!table.insert(address, value_of(address, i))) ++wrong;
      const std::uint64_t value = table.take(address);
      wrong += value != 0 && value != value_of(address, i);
      ended += value != 0;
    }
    --working;
    return wrong;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(ended.load(), 3 * kEach);
  EXPECT_EQ(table.size(), 0U);
}

TEST(NumberTable, RemembersThroughGrowth) {
  static constinit NumberTable table{256};
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> hashes(100'000);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    hashes[i] = random();
    EXPECT_EQ(table.find(hashes[i]), 0U);
    table.insert(hashes[i], static_cast<std::uint32_t>(i + 1));
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) found += table.find(hashes[i]) == i + 1;
  EXPECT_EQ(found, hashes.size());
  table.insert(0, 77);
  EXPECT_EQ(table.find(0), 77U);
  table.wipe();
  EXPECT_EQ(table.find(hashes[0]), 0U);
}

}  // namespace
}  // namespace geiger::capture
