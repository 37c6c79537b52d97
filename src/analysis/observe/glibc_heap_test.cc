#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/test_used_pages.h"

namespace geiger::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Memory of a process that is not there.
struct Memory {
  Address base = 0;
  std::string bytes;
  std::vector<std::uint64_t> missing_pages;

  void put(Address address, std::uint64_t word) {
    std::memcpy(&bytes[address - base], &word, sizeof word);
  }
  [[nodiscard]] ReadMemory reader() const {
    return [this](Address address, void* into, std::size_t size) {
      if (address < base || address + size > base + bytes.size()) return false;
      for (const std::uint64_t page : missing_pages) {
        if (address / 4096 <= page && page <= (address + size - 1) / 4096) return false;
      }
      std::memcpy(into, &bytes[address - base], size);
      return true;
    };
  }
};

/// A heap as malloc leaves it.
struct Heap {
  Memory memory;
  std::vector<LiveSample> objects;  ///< Of all chunks in use.
  Address first = 0, end = 0;

  /// Chunks from `at` to the end of the memory; the last is the top.
  void fill(std::uint64_t seed, std::uint64_t flags = 0) {
    std::mt19937_64 random(seed);
    Address at = first;
    bool is_previous_used = true;
    while (end - at > 4096) {
      const Bytes size = 32 + 16 * (random() % (random() % 30 == 0 ? 100 : 12));
      // Neighbours that are free would be one.
      const bool is_used = !is_previous_used || random() % 3 != 0;
      memory.put(at + 8, size | flags | (is_previous_used ? 1U : 0U));
      if (is_used) {
        const auto ref = static_cast<trace::Ref>(objects.size() + 1);
        objects.push_back({ref, at + 16, size - 20, size - 8});
      }
      is_previous_used = is_used;
      at += size;
    }
    memory.put(at + 8, (end - at) | flags | (is_previous_used ? 1U : 0U));
  }
};

Heap main_heap(std::uint64_t seed) {
  Heap heap;
  heap.first = 0x555500000000;
  heap.end = heap.first + 64 * 4096;
  heap.memory = {heap.first, std::string(64 * 4096, '\0'), {}};
  heap.fill(seed);
  return heap;
}

HeapWalk fresh() { return {PageOccupancy(4096), {}, {}}; }

Bytes stranded_in(const Heap& heap) {
  UsedPages used;
  for (const LiveSample& object : heap.objects)
    used.add(chunk_of(object).start, chunk_of(object).end);
  return used.stranded_in(heap.first, heap.end);
}

double answered(const HeapWalk& walk, const std::vector<LiveSample>& objects) {
  double bytes = 0;
  for (const LiveSample& object : objects) {
    bytes += walk.occupancy.waste_of(chunk_of(object).start, chunk_of(object).end);
  }
  return bytes;
}

TEST(GlibcHeap, FindsEveryChunk) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Heap heap = main_heap(seed);
    HeapWalk walk = fresh();
    const auto walked = walk_heap(heap.memory.reader(), heap.first, heap.end, heap.objects, walk);
    ASSERT_TRUE(walked.has_value()) << walked.reason();
    EXPECT_THAT(walk.unmatched, IsEmpty());
    EXPECT_NEAR(answered(walk, heap.objects), static_cast<double>(stranded_in(heap)), 1);
  }
}

TEST(GlibcHeap, CountsChunksInUse) {
  const Heap heap = main_heap(7);
  std::map<Bytes, std::uint64_t> expected, counted;
  for (const LiveSample& object : heap.objects) ++expected[object.usable + 8];
  HeapWalk walk = fresh();
  ASSERT_TRUE(walk_heap(heap.memory.reader(), heap.first, heap.end, {}, walk).has_value());
  for (const auto& [bytes, count] : walk.in_use) counted[bytes] = count;
  EXPECT_EQ(counted, expected);
}

TEST(GlibcHeap, NamesSamplesThatAreNoChunks) {
  Heap heap = main_heap(1);
  heap.objects[5].usable += 16;
  heap.objects[9].address += 16;
  HeapWalk walk = fresh();
  ASSERT_TRUE(
      walk_heap(heap.memory.reader(), heap.first, heap.end, heap.objects, walk).has_value());
  EXPECT_THAT(walk.unmatched, ElementsAre(6, 10));
}

TEST(GlibcHeap, GivesUpWhereTheChainMakesNoSense) {
  for (const std::uint64_t size : {0U, 8U, 24U, 40U, 0x7ffffff0U, 48U | 2U}) {
    Heap heap = main_heap(2);
    heap.memory.put(heap.objects[20].address - 8, size | 1);
    HeapWalk walk = fresh();
    EXPECT_FALSE(
        walk_heap(heap.memory.reader(), heap.first, heap.end, heap.objects, walk).has_value())
        << size;
  }
}

TEST(GlibcHeap, SaysWhereAPageIsNotInMemory) {
  Heap heap = main_heap(3);
  heap.memory.missing_pages = {heap.first / 4096 + 7};
  HeapWalk walk = fresh();
  const auto walked = walk_heap(heap.memory.reader(), heap.first, heap.end, heap.objects, walk);
  ASSERT_FALSE(walked.has_value());
  EXPECT_THAT(walked.reason(), HasSubstr("not in memory"));
}

/// Words changed at random: an answer or a reason, never a crash or an endless walk.
TEST(GlibcHeap, AnyBytesAreWalked) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    Heap heap = main_heap(5);
    for (int change = 0; change < 3; ++change) {
      heap.memory.put(heap.first + 8 * (random() % (64 * 512)), random() >> (random() % 64));
    }
    HeapWalk walk = fresh();
    static_cast<void>(walk_heap(heap.memory.reader(), heap.first, heap.end, heap.objects, walk));
  }
}

/// The first heap of a thread's arena and one that was added to it, in one mapping.
struct Arenas : ::testing::Test {
  static constexpr Address kFirst = 0x7f0000000000;
  static constexpr Address kSecond = kFirst + 64 * kMiB;
  Memory memory{kFirst, std::string(128 * kMiB, '\0'), {}};
  std::vector<LiveSample> objects;
  Bytes stranded = 0;

  void heap(Address at, Address chunks, std::uint64_t before) {
    memory.put(at, kFirst + 48);
    memory.put(at + 8, before);
    memory.put(at + 16, 32 * 4096);
    Heap heap;
    heap.memory.base = kFirst;
    heap.memory.bytes.swap(memory.bytes);
    heap.first = chunks;
    heap.end = at + 32 * 4096;
    heap.fill(at);
    heap.memory.bytes.swap(memory.bytes);
    for (LiveSample object : heap.objects) {
      object.ref = static_cast<trace::Ref>(objects.size() + 1);
      objects.push_back(object);
    }
    stranded += stranded_in(heap);
  }
  void SetUp() override {
    heap(kFirst, kFirst + 48 + 2200 + 8, 0);
    heap(kSecond, kSecond + 48, kFirst);
  }
  base::Outcome<void> walk(HeapWalk& into) const { return walk(objects, Heaps::kOfSamples, into); }
  base::Outcome<void> walk(std::span<const LiveSample> samples, Heaps heaps, HeapWalk& into) const {
    Mapping mapping;
    mapping.start = kFirst;
    mapping.end = kFirst + 128 * kMiB;
    mapping.is_writable = true;
    const Mapping mappings[] = {mapping};
    return walk_glibc(memory.reader(), mappings, samples, heaps, into);
  }
};

TEST_F(Arenas, AreFoundByTheirAlignment) {
  HeapWalk into = fresh();
  const auto walked = walk(into);
  ASSERT_TRUE(walked.has_value()) << walked.reason();
  EXPECT_THAT(into.unmatched, IsEmpty());
  EXPECT_NEAR(answered(into, objects), static_cast<double>(stranded), 1);
}

TEST_F(Arenas, AreFoundWithoutSamples) {
  HeapWalk into = fresh();
  ASSERT_TRUE(walk({}, Heaps::kAll, into).has_value());
  std::uint64_t chunks = 0;
  for (const auto& [bytes, count] : into.in_use) chunks += count;
  EXPECT_EQ(chunks, objects.size());
}

TEST_F(Arenas, ChunksWithMappingsOfTheirOwnHaveNoWaste) {
  // As malloc marks it, anywhere in memory that is no heap.
  const Address own = kFirst + 60 * kMiB;
  memory.put(own + 8, (1 * kMiB) | 2);
  objects.insert(objects.begin(), {.ref = 1000, .address = own + 16, .requested = 5, .usable = 5});
  std::ranges::sort(objects, {}, &LiveSample::address);
  HeapWalk into = fresh();
  EXPECT_TRUE(walk(into).has_value());
  EXPECT_THAT(into.unmatched, IsEmpty());
}

TEST_F(Arenas, ChunksWhoseMappingsHaveGoneWereFreed) {
  const Address own = kFirst + 60 * kMiB;
  memory.missing_pages.push_back(own / 4096);
  objects.insert(objects.begin(), {.ref = 1000, .address = own + 16, .requested = 5, .usable = 5});
  std::ranges::sort(objects, {}, &LiveSample::address);
  HeapWalk into = fresh();
  const auto walked = walk(into);
  EXPECT_TRUE(walked.has_value()) << walked.reason();
  EXPECT_THAT(into.unmatched, testing::ElementsAre(1000));
}

TEST_F(Arenas, SamplesWhereNoHeapLiesAreUnmatched) {
  memory.put(kFirst, 12345);
  std::vector<trace::Ref> of_first;
  for (const LiveSample& object : objects) {
    if (object.address < kSecond) of_first.push_back(object.ref);
  }
  HeapWalk into = fresh();
  const auto walked = walk(into);
  EXPECT_TRUE(walked.has_value()) << walked.reason();
  EXPECT_FALSE(of_first.empty());
  EXPECT_EQ(into.unmatched, of_first);
}

}  // namespace
}  // namespace geiger::observe
