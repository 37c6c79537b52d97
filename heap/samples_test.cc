// Sampled objects: every path tries them, they are placed correctly, and each ends once.
#include "heap/samples.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "heap/allocator.h"
#include "heap/census.h"
#include "heap/test_listener.h"
#include "heap/test_model.h"

namespace geiger::heap {
namespace {

constexpr std::size_t kForms[] = {0,    1,    64,   500,   2048,   2049,
                                  5000, 8192, 9000, 65536, 70'000, 3 << 20};

// A piece of 4 KiB for each class up to 2 KiB that had a sample, a slot for each above.
constexpr std::size_t kMostSpare = (3 + 16) * kSlotBytes;

class Samples : public ::testing::Test {
 protected:
  void begin(std::uint64_t interval, std::uint64_t seed = 1) {
    TestListener::reset();
    listen(&TestListener::kCalls, interval, seed);
  }
  void TearDown() override { listen(nullptr, kDefaultInterval, 1); }
};

const Sample* expect_sample(const void* block, std::size_t size, std::size_t alignment) {
  const Sample* const sample = TestListener::take_last();
  EXPECT_NE(sample, nullptr) << size;
  if (sample == nullptr) return nullptr;
  EXPECT_EQ(sample->address, block);
  EXPECT_EQ(sample->requested, size);
  EXPECT_EQ(sample->alignment, alignment);
  EXPECT_EQ(sample->usable, usable_size(sample->address));
  EXPECT_EQ(sample->interval, 1U);
  return sample;
}

// A list that was installed without being cut would hand out blocks undecided.
TEST_F(Samples, AtAnIntervalOfOneEveryCallIsASample) {
  begin(1);
  for (int round = 0; round < 300; ++round) {
    for (const std::size_t size : kForms) {
      if (size > 100'000 && round > 3) continue;
      void* const plain = allocate(size);
      expect_sample(plain, size, 0);
      void* const zeroed = allocate_zeroed(size);
      expect_sample(zeroed, size, 0);
      void* const aligned = allocate_aligned(size, 4096);
      expect_sample(aligned, size, 4096);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 4096, 0U);
      void* moved = reallocate(plain, 2 * size + 1);
      expect_sample(moved, 2 * size + 1, 0);
      moved = reallocate(moved, 2 * size + 2);
      expect_sample(moved, 2 * size + 2, 0);
      for (void* const block : {moved, zeroed, aligned}) release(block);
    }
  }
  EXPECT_TRUE(TestListener::all_ended());
}

TEST_F(Samples, SmallOnesAreOnPagesOfTheirOwnAndTheirBlocksStayTaken) {
  begin(0);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate(64));
  begin(1024);
  const Census before = take_census();
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate(64));
  const Census after = take_census();
  EXPECT_GT(TestListener::sampled, 20U);
  EXPECT_EQ(after.live - before.live, 64'000U);
  EXPECT_LE(after.samples, kMostSpare);
  for (void* const block : blocks) release(block);
  EXPECT_TRUE(TestListener::all_ended());
  EXPECT_LE(take_census().samples, kMostSpare);
}

TEST_F(Samples, OfSignalHandlersAreReportedToo) {
  begin(1);
  void* block = nullptr;
  {
    const AmongSamples interrupted;
    block = allocate(64);
  }
  const Sample* const sample = TestListener::take_last();
  ASSERT_NE(sample, nullptr);
  EXPECT_EQ(sample->address, block);
  EXPECT_FALSE(sample->is_followed);
  release(block);
  EXPECT_EQ(TestListener::freed, 0U);
}

// Neighbours in a page of samples do not overlap, and keep what is written to them.
TEST_F(Samples, AModelOfTheHeapHolds) {
  begin(1 << 14);
  Model model(3, 3000);
  for (int i = 0; i < 200'000; ++i) {
    model.step();
    if (i % 20'000 != 0) continue;
    // Other intervals: other objects move, or stay in place.
    listen(&TestListener::kCalls, std::uint64_t{1} << (6 + i / 20'000), 0);
  }
  model.free_all();
  EXPECT_GT(TestListener::sampled, 1000U);
  EXPECT_TRUE(TestListener::all_ended());
  const Census census = take_census();
  EXPECT_EQ(census.live + census.large + census.huge, 0U);
  EXPECT_LE(census.samples, kMostSpare);
  EXPECT_EQ(census.sum(), census.mapped);
}

TEST_F(Samples, OtherThreadsEndThem) {
  begin(64);
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    std::thread([&] {
      for (int i = 0; i < 2000; ++i) blocks.push_back(allocate(kForms[i % 10]));
    }).join();
    for (void* const block : blocks) release(block);
  }
  EXPECT_TRUE(TestListener::all_ended());
}

// Threads that come and go exchange objects of all kinds, while a part of them is sampled.
TEST_F(Samples, ThreadsExchangeObjects) {
  begin(2048);
  constexpr std::size_t kShared = 256;
  static std::atomic<unsigned char*> shared[kShared];
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([seed = 4 * round + t + 1] {
        sampling::Xoshiro256pp random(seed);
        for (int i = 0; i < 3000; ++i) {
          const std::size_t size = 16 + random.next() % (i % 50 == 0 ? 100'000 : 3000);
          auto* block = static_cast<unsigned char*>(allocate(size));
          block[0] = block[15] = static_cast<unsigned char>(size);
          if (i % 7 == 0) block = static_cast<unsigned char*>(reallocate(block, size + 100));
          block = shared[random.next() % kShared].exchange(block);
          if (block == nullptr) continue;
          ASSERT_EQ(block[0], block[15]);
          release(block);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (std::atomic<unsigned char*>& block : shared) release(block.exchange(nullptr));
  EXPECT_GT(TestListener::sampled, 10'000U);
  EXPECT_TRUE(TestListener::all_ended());
  const Census census = take_census();
  EXPECT_EQ(census.sum(), census.mapped);
  EXPECT_EQ(census.live, 0U);
}

TEST_F(Samples, WithoutAListenerDrawsAreDropped) {
  begin(64);
  listen(nullptr, 64, 0);
  void* const block = allocate(10'000);
  release(block);
  EXPECT_EQ(TestListener::sampled, 0U);
}

using SamplesDeathTest = Samples;

/// The next object of 64 bytes that is a sample; the others are freed at once.
char* next_sample() {
  for (;;) {
    void* const block = allocate(64);
    if (TestListener::take_last() != nullptr) return static_cast<char*>(block);
    release(block);
  }
}

TEST_F(SamplesDeathTest, ASecondFreeIsRefused) {
  begin(1024);
  char* const keeps_the_leaf = next_sample();
  char* const block = next_sample();
  EXPECT_DEATH((release(block), release(block)), "free\\(\\): 0x[0-9a-f]{16} is not a live block");
  EXPECT_DEATH(release(block + 16), "is not a live block");
  release(block);
  release(keeps_the_leaf);
}

// --- the natural heap ---

// The state of lists, pages and segments after a deterministic program. It runs in children, which
// all begin with the same heap.
struct Layout {
  std::size_t live, listed, free, uncarved, tails, large, huge;
  std::size_t live_blocks[kClasses];

  bool operator==(const Layout&) const = default;
};

Layout layout_now() {
  const Census census = take_census();
  Layout layout{census.live,  census.listed, census.free, census.uncarved,
                census.tails, census.large,  census.huge, {}};
  std::copy(std::begin(census.live_blocks), std::end(census.live_blocks), layout.live_blocks);
  return layout;
}

Layout layout_of_child(std::uint64_t seed, std::uint64_t interval, std::uint64_t* samples) {
  struct Shared {
    Layout layout;
    std::uint64_t samples;
  };
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    TestListener::reset();
    listen(&TestListener::kCalls, interval, seed);
    Model model(7, 3000);
    for (int i = 0; i < 12'000; ++i) model.step();
    shared->layout = layout_now();
    shared->samples = TestListener::sampled;
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Shared result = *shared;
  munmap(shared, sizeof(Shared));
  *samples += result.samples;
  return result.layout;
}

TEST_F(Samples, SamplingDoesNotMoveObjects) {
  release(allocate(1));
  // What other tests left behind would be copied in every child that writes to it.
  (void)trim();
  std::uint64_t none = 0, samples = 0;
  const Layout natural = layout_of_child(1, 0, &none);
  EXPECT_EQ(none, 0U);
  EXPECT_GT(natural.free, 0U);
  for (const std::uint64_t interval : {1 << 12, 1 << 16, 1 << 19}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      ASSERT_EQ(natural, layout_of_child(seed, interval, &samples)) << seed << " at " << interval;
    }
  }
  EXPECT_GT(samples, 10'000U);
}

}  // namespace
}  // namespace geiger::heap
