// The law of the allocator's samples: it samples objects independently of each other, one of r
// bytes with probability 1 - (1 - 1/T)^r, or 1 from T bytes on.
//
// Seeds are fixed, so nothing here is flaky. A correct allocator with fresh seeds would exceed a
// limit with probability below 1e-6 per comparison (|z| < 5: 5.7e-7; chi-square, either side:
// 1e-6). The tests state what mistakes would show.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "heap/allocator.h"
#include "heap/census.h"
#include "heap/test_listener.h"
#include "sampling/samplers.h"
#include "sampling/test_geometric_law.h"
#include "sampling/test_score.h"

namespace geiger::heap {
namespace {

using sampling::expect_chi_square;
using sampling::Score;
using sampling::thread_seed;
using sampling::Xoshiro256pp;

constexpr std::size_t kLargest = 12'400;

double inclusion(std::size_t size, std::uint64_t interval) {
  if (size >= interval) return 1;
  return 1 - sampling::survival(std::max<std::size_t>(size, 1), interval);
}

// The samples of a program's objects, in total and by size.
class Tally {
 public:
  explicit Tally(std::uint64_t interval) : interval_(interval), by_size_(kLargest + 1) {
    for (std::size_t size = 0; size <= kLargest; ++size) {
      inclusion_.push_back(inclusion(size, interval));
    }
  }
  /// An object that was just allocated.
  void add(std::size_t size) {
    const Sample* const sample = TestListener::take_last();
    if (sample != nullptr) {
      ASSERT_EQ(sample->requested, size);
      ASSERT_EQ(sample->interval, interval_);
      ASSERT_EQ(sample->is_certain, size >= interval_);
      ASSERT_TRUE(sample->offset < size || sample->offset == 0);
    }
    ASSERT_TRUE(sample != nullptr || size < interval_);
    by_size_[size].add(sample != nullptr, inclusion_[size]);
  }
  void add(const Tally& other) {
    for (std::size_t i = 0; i <= kLargest; ++i) by_size_[i].add(other.by_size_[i]);
  }
  [[nodiscard]] double z() const {
    Score all;
    for (const Score& score : by_size_) all.add(score);
    return all.z();
  }
  void expect_right(const char* what) const {
    double statistic = 0, sizes = 0;
    for (const Score& score : by_size_) {
      if (score.variance < 20) continue;
      statistic += score.z() * score.z();
      ++sizes;
    }
    EXPECT_LT(std::abs(z()), 5) << what;
    if (sizes > 0) expect_chi_square(statistic, sizes, what);
  }

 private:
  std::uint64_t interval_;
  std::vector<double> inclusion_;
  std::vector<Score> by_size_;
};

class HeapLaw : public ::testing::Test {
 protected:
  void begin(std::uint64_t interval, std::uint64_t seed) {
    TestListener::reset();
    listen(&TestListener::kCalls, interval, seed);
  }
  void TearDown() override {
    EXPECT_TRUE(TestListener::all_ended());
    listen(nullptr, kDefaultInterval, 1);
  }
};

// Random sizes in random order of death.
void run_random_sizes(std::uint64_t seed, int objects, Tally& tally) {
  Xoshiro256pp random(seed);
  std::vector<void*> live;
  for (int i = 0; i < objects; ++i) {
    const std::size_t size = random.next() % (kLargest + 1) >> random.next() % 8;
    live.push_back(allocate(size));
    tally.add(size);
    if (live.size() > 500) {
      std::swap(live[random.next() % live.size()], live.back());
      release(live.back());
      live.pop_back();
    }
  }
  for (void* const block : live) release(block);
}

// With drawn bytes after the request recorded (the block size tried, not the request), |z| is 34.
TEST_F(HeapLaw, RandomSizesHaveTheirProbabilities) {
  for (const std::uint64_t interval : {64, 4096, 16384}) {
    begin(interval, 101);
    Tally tally(interval);
    run_random_sizes(102, 4'000'000, tally);
    tally.expect_right("random sizes");
  }
}

// The z of many programs are together standard normal: correlated samples would show here.
TEST_F(HeapLaw, CountsOfManyRunsVaryAsIndependentTrials) {
  double statistic = 0, sum = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    begin(4096, thread_seed(201, run) | 1);
    Tally tally(4096);
    run_random_sizes(thread_seed(202, run), 4000, tally);
    statistic += tally.z() * tally.z();
    sum += tally.z();
  }
  expect_chi_square(statistic, kRuns, "runs");
  EXPECT_LT(std::abs(sum) / std::sqrt(kRuns), 5);
}

// Bursts of one size, all freed afterwards, sometimes with a trim.
TEST_F(HeapLaw, BurstsOfOneSizeHaveTheirProbabilities) {
  begin(4096, 301);
  Tally tally(4096);
  Xoshiro256pp random(302);
  std::vector<void*> blocks;
  for (int burst = 0; burst < 20'000; ++burst) {
    const std::size_t size = random.next() % (kLargest + 1) >> random.next() % 8;
    blocks.clear();
    for (std::uint64_t i = random.next() % 300; i > 0; --i) {
      blocks.push_back(allocate(size));
      tally.add(size);
    }
    for (void* const block : blocks) release(block);
    if (random.next() % 500 == 0) (void)trim();
  }
  tally.expect_right("bursts");
}

// Threads with 50 to 550 objects; their heaps are adopted, and other threads free their objects.
TEST_F(HeapLaw, HeapsChangeHands) {
  begin(4096, 401);
  Tally tally(4096);
  Xoshiro256pp random(402);
  std::vector<void*> blocks;
  for (int thread = 0; thread < 4000; ++thread) {
    std::thread([&] {
      for (void* const block : blocks) release(block);
      blocks.clear();
      for (std::uint64_t i = 50 + random.next() % 501; i > 0; --i) {
        const std::size_t size = random.next() % 2000;
        blocks.push_back(allocate(size));
        tally.add(size);
      }
    }).join();
  }
  for (void* const block : blocks) release(block);
  tally.expect_right("threads");
}

// Given a sample, its offset follows the geometric law cut at the requested size.
TEST_F(HeapLaw, OffsetsAreTruncatedGeometric) {
  struct SizeAndInterval {
    std::size_t size;
    std::uint64_t interval;
  };
  for (const auto [size, interval] : {SizeAndInterval{100, 256}, {60, 64}, {1000, 4096}}) {
    begin(interval, 501);
    std::vector<double> counts(size);
    for (int i = 0; i < 1'000'000; ++i) {
      void* const block = allocate(size);
      if (const Sample* const sample = TestListener::take_last()) ++counts[sample->offset];
      release(block);
    }
    EXPECT_GT(sampling::chi_square_p(counts, sampling::offset_probabilities(size, interval)), 1e-6)
        << size << " of " << interval;
  }
}

// T changes between 4 and 16 KiB at moments that the program chooses. If only cut lists were
// redrawn, z would be far beyond 5 (list_sampler_stat_test.cc).
TEST_F(HeapLaw, ChangesOfTheIntervalKeepBothRates) {
  begin(4096, 601);
  Tally tallies[2]{Tally(4096), Tally(16384)};
  Xoshiro256pp random(602);
  for (int stretch = 0; stretch < 20'000; ++stretch) {
    const bool is_long = stretch % 2 != 0;
    listen(&TestListener::kCalls, is_long ? 16384 : 4096, 0);
    for (std::uint64_t i = random.next() % 300; i > 0; --i) {
      const std::size_t size = random.next() % 1000;
      void* const block = allocate(size);
      tallies[is_long ? 1 : 0].add(size);
      release(block);
    }
  }
  for (const Tally& tally : tallies) tally.expect_right("changed intervals");
}

// Growing buffers: each realloc is a free and a trial of the whole new size, also in place.
TEST_F(HeapLaw, ReallocationsAreNewTrials) {
  begin(4096, 701);
  Tally tally(4096);
  Xoshiro256pp random(702);
  for (int buffer = 0; buffer < 60'000; ++buffer) {
    std::size_t size = 1 + random.next() % 50;
    void* block = allocate(size);
    tally.add(size);
    while (size < 2500) {
      size += 1 + random.next() % (size + 1);
      block = reallocate(block, size);
      tally.add(size);
    }
    release(block);
  }
  tally.expect_right("reallocations");
}

// The children of a parent draw their own bytes: the sum over the children of one parent varies as
// independent trials. If children keep their parent's draws, the mean square is over 100.
TEST_F(HeapLaw, ChildrenOfAForkDrawTheirOwnBytes) {
  constexpr std::uint64_t kInterval = 4096;
  constexpr std::size_t kSize = 64;
  constexpr int kParents = 20, kChildren = 60, kObjects = 64;
  auto* const counts = static_cast<int*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  double statistic = 0;
  for (int parent = 0; parent < kParents; ++parent) {
    begin(kInterval, thread_seed(801, parent) | 1);
    *counts = 0;
    for (int i = 0; i < kChildren; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        for (int j = 0; j < kObjects; ++j) (void)allocate(kSize);
        *counts += static_cast<int>(TestListener::sampled);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    const double p = inclusion(kSize, kInterval), n = kChildren * kObjects;
    statistic += std::pow(*counts - n * p, 2) / (n * p * (1 - p));
  }
  munmap(counts, 4096);
  // A square of a binomial's z has variance 2 + (1 - 6pq)/(npq), at most 2.02 here: as chi-square.
  expect_chi_square(statistic, kParents, "parents");
}

// Calls by class as the program counts them itself, while samples are drawn and moved.
TEST_F(HeapLaw, TotalsAreExact) {
  begin(512, 901);
  std::vector<std::uint64_t> before(kClasses), calls(kClasses);
  std::vector<void*> warm;
  for (unsigned i = 0; i < kClasses; ++i) {
    for (int j = 0; j < 20; ++j) warm.push_back(allocate(block_size(i)));
  }
  for (unsigned i = 0; i < kClasses; ++i) before[i] = handed_out(i);
  Xoshiro256pp random(902);
  std::vector<void*> live;
  for (int i = 0; i < 300'000; ++i) {
    const std::size_t size = random.next() % (kLargestMedium + 1) >> random.next() % 14;
    live.push_back(allocate(size));
    ++calls[class_of(size)];
    if (live.size() > 300) {
      std::swap(live[random.next() % live.size()], live.back());
      release(live.back());
      live.pop_back();
    }
  }
  for (unsigned i = 0; i < kClasses; ++i) EXPECT_EQ(handed_out(i) - before[i], calls[i]) << i;
  for (void* const block : live) release(block);
  for (void* const block : warm) release(block);
}

}  // namespace
}  // namespace geiger::heap
