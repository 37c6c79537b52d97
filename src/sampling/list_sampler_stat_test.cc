// The law of the list sampler: objects are sampled independently of each other, of their lists and
// of the heaps' owners, each with probability 1 - q^size.
//
// Seeds are fixed, so nothing here is flaky; with fresh seeds, a correct sampler would exceed the
// limits with probability below 1e-6 per comparison (|z| < 5: 5.7e-7; chi-square on either side: p
// > 1e-6). Each test states the figures that mistakes would give.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sampling/samplers.h"
#include "sampling/test_geometric_law.h"
#include "sampling/test_list_heap.h"
#include "sampling/test_score.h"

namespace geiger::sampling::list_sampler_stat_test {
namespace {

double inclusion(std::uint64_t size, std::uint64_t interval) {
  return 1 - survival(std::max<std::uint64_t>(size, 1), interval);
}

// Sampled objects of one program: all, by size, and those after a sample of their class.
class Tally {
 public:
  explicit Tally(std::uint64_t interval) {
    for (std::uint64_t size = 0; size <= kLargestSize; ++size) {
      inclusion_.push_back(inclusion(size, interval));
    }
  }

  void add(std::uint64_t size, const HandedOut& object) {
    const bool is_hit = object.is_sample();
    const std::size_t index = class_of(size);
    all_.add(is_hit, inclusion_[size]);
    by_size_[size].add(is_hit, inclusion_[size]);
    if (was_hit_[index]) behind_.add(is_hit, inclusion_[size]);
    was_hit_[index] = is_hit;
  }

  void expect_right(const char* what) const {
    double statistic = 0, sizes = 0;
    for (const Score& score : by_size_) {
      if (score.variance < 20) continue;
      statistic += score.z() * score.z();
      ++sizes;
    }
    EXPECT_LT(std::abs(all_.z()), 5) << what;
    EXPECT_LT(std::abs(behind_.z()), 5) << what << " behind a sample";
    if (sizes > 0) expect_chi_square(statistic, sizes, what);
  }
  [[nodiscard]] double z() const { return all_.z(); }

 private:
  std::vector<double> inclusion_;
  Score all_, behind_, by_size_[kLargestSize + 1];
  bool was_hit_[kClasses]{};
};

struct Live {
  std::uint64_t size;
  std::uint32_t block;
};

// Random sizes, freed in random order, with an occasional collection.
void run_random_sizes(ListHeap& heap, std::uint64_t seed, int objects, Tally& tally) {
  Xoshiro256pp random(seed);
  std::vector<Live> live;
  for (int i = 0; i < objects; ++i) {
    const std::uint64_t size = random.next() % (kLargestSize + 1);
    const HandedOut object = heap.allocate(size);
    tally.add(size, object);
    live.push_back({size, object.block});
    if (live.size() > 500) {
      std::swap(live[random.next() % live.size()], live.back());
      heap.free(live.back().size, live.back().block);
      live.pop_back();
    }
    if (random.next() % 5000 == 0) heap.collect();
    if (random.next() % 500 == 0) heap.give_up(random.next() % kClasses);
  }
}

// If drawn bytes beyond the request are recorded, |z| is 103 and 79; if lists contain their drawn
// block, over 1,000; if a refill redraws only if the success is near, 50.
TEST(ListSamplerLaw, RandomSizesHaveTheirProbabilities) {
  for (const std::uint64_t interval : {64, 1024}) {
    ListHeap heap(101, interval, true);
    Tally tally(interval);
    run_random_sizes(heap, 102, 3'000'000, tally);
    tally.expect_right("random sizes");
  }
}

// The z of 300 programs are standard normal: catches samples that are too regular, or that come in
// groups.
TEST(ListSamplerLaw, CountsOfManyRunsVaryAsIndependentTrials) {
  double statistic = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    ListHeap heap(thread_seed(201, run), 1024, true);
    Tally tally(1024);
    run_random_sizes(heap, thread_seed(202, run), 4000, tally);
    statistic += tally.z() * tally.z();
  }
  expect_chi_square(statistic, kRuns, "runs");
}

// Bursts of one size that are then freed completely: lists of every length, uncut and cut.
TEST(ListSamplerLaw, BurstsOfOneSizeHaveTheirProbabilities) {
  ListHeap heap(301, 1024, true);
  Tally tally(1024);
  Xoshiro256pp random(302);
  std::vector<std::uint32_t> blocks;
  for (int burst = 0; burst < 30'000; ++burst) {
    const std::uint64_t size = random.next() % (kLargestSize + 1) >> random.next() % 5;
    blocks.clear();
    for (std::uint64_t i = random.next() % 150; i > 0; --i) {
      const HandedOut object = heap.allocate(size);
      tally.add(size, object);
      blocks.push_back(object.block);
    }
    for (const std::uint32_t block : blocks) heap.free(size, block);
    if (random.next() % 2 == 0) heap.collect();
  }
  tally.expect_right("bursts");
}

// Threads of 50 to 550 objects, four at a time, that leave their heap with its lists to the next
// thread. If a heap redrew for its new owner only if a success is near, or if heaps with short
// lists were given up, the first objects of threads would show it.
TEST(ListSamplerLaw, HeapsChangeHands) {
  constexpr std::uint64_t kInterval = 1024;
  std::vector<ListHeap> heaps;
  for (std::uint64_t i = 0; i < 8; ++i) heaps.emplace_back(thread_seed(401, i), kInterval, true);
  Tally tally(kInterval);
  Score first;
  Xoshiro256pp random(402);
  for (int thread = 0; thread < 8'000; ++thread) {
    ListHeap& heap = heaps[random.next() % heaps.size()];
    const std::uint64_t base = random.next() % 200;
    for (std::uint64_t i = 0, objects = 50 + random.next() % 501; i < objects; ++i) {
      const std::uint64_t size = (base + random.next() % 100) % (kLargestSize + 1);
      const HandedOut object = heap.allocate(size);
      tally.add(size, object);
      if (i < 10) first.add(object.is_sample(), inclusion(size, kInterval));
      // Another thread frees it, into a heap of its own.
      heaps[random.next() % heaps.size()].free(size, object.block);
    }
  }
  tally.expect_right("threads");
  EXPECT_LT(std::abs(first.z()), 5);
}

// Given a sample, its offset follows the geometric law truncated at the requested size.
TEST(ListSamplerLaw, OffsetsAreTruncatedGeometric) {
  struct SizeAndInterval {
    std::uint64_t size, interval;
  };
  for (const auto [size, interval] : {SizeAndInterval{4, 8}, {16, 64}, {100, 64}, {65, 1024}}) {
    ListHeap heap(501, interval, true);
    std::vector<double> counts(size);
    for (int i = 0; i < 1'000'000; ++i) {
      const HandedOut object = heap.allocate(size);
      if (object.is_sample()) ++counts[object.verdict.offset];
      heap.free(size, object.block);
    }
    EXPECT_GT(chi_square_p(counts, offset_probabilities(size, interval)), 1e-6)
        << size << " of " << interval;
  }
}

// Requests below T between certain ones, in the same classes, keep their own rate.
TEST(ListSamplerLaw, CertainObjectsDoNotDisturbTheOthers) {
  constexpr std::uint64_t kInterval = 200;
  ListHeap heap(601, kInterval, false);
  Xoshiro256pp random(602);
  Score small, same_class;
  for (int i = 0; i < 3'000'000; ++i) {
    const std::uint64_t size = 1 + random.next() % 240;
    const HandedOut object = heap.allocate(size);
    heap.free(size, object.block);
    if (size >= kInterval) {
      ASSERT_EQ(object.verdict.kind, Verdict::Kind::kCertain);
      continue;
    }
    Score& score = kBlockSizes[class_of(size)] >= kInterval ? same_class : small;
    score.add(object.is_sample(), inclusion(size, kInterval));
  }
  EXPECT_LT(std::abs(small.z()), 5);
  EXPECT_LT(std::abs(same_class.z()), 5);
}

// T changes between 64 and 1024 bytes in the middle of lists, at moments that the program chooses;
// or the next slow path finds the change, at a moment that depends on K. Each object has the T that
// was in force before it. If only cut lists are redrawn, |z| is 17 to 197.
void expect_right_under_changes(bool at_slow_path) {
  ListHeap heap(701, 1024, true);
  Xoshiro256pp random(702);
  Score scores[2];
  for (int stretch = 0; stretch < 40'000; ++stretch) {
    const std::uint64_t interval = stretch % 2 == 0 ? 64 : 1024;
    at_slow_path ? heap.ask_for_interval(interval) : heap.change_interval(interval);
    for (std::uint64_t i = random.next() % 100; i > 0; --i) {
      const std::uint64_t size = random.next() % 49;
      const HandedOut object = heap.allocate(size);
      scores[object.interval == 64].add(object.is_sample(), inclusion(size, object.interval));
      heap.free(size, object.block);
    }
  }
  for (const Score& score : scores) EXPECT_LT(std::abs(score.z()), 5) << at_slow_path;
}

TEST(ListSamplerLaw, ChangesOfTheIntervalKeepBothRates) {
  expect_right_under_changes(false);
  expect_right_under_changes(true);
}

// 300 children of each of 30 parents, with a sample each on average. The sum over the children of
// one parent varies like independent trials: if children keep K, the mean square of z is 132
// instead of 1.
TEST(ListSamplerLaw, ChildrenOfAForkDrawTheirOwnBytes) {
  constexpr std::uint64_t kInterval = 1024, kSize = 40;
  constexpr int kParents = 30, kChildren = 300, kObjects = 25;
  double of_parents = 0, of_children = 0;
  for (int p = 0; p < kParents; ++p) {
    ListHeap parent(thread_seed(801, p), kInterval, true);
    for (int i = 0; i < 10 * p; ++i) (void)parent.allocate(kSize);
    Score all;
    for (int c = 0; c < kChildren; ++c) {
      ListHeap child = parent;
      child.reseed(thread_seed(802, kChildren * p + c));
      Score own;
      for (int i = 0; i < kObjects; ++i) {
        own.add(child.allocate(kSize).is_sample(), inclusion(kSize, kInterval));
      }
      of_children += own.z() * own.z();
      all.excess += own.excess;
      all.variance += own.variance;
    }
    of_parents += all.z() * all.z();
  }
  expect_chi_square(of_parents, kParents, "parents");
  // The squares of z of a binomial count have variance 2 + (1 - 6pq)/(npq), here 2.85.
  constexpr double kAll = kParents * kChildren;
  EXPECT_LT(std::abs((of_children - kAll) / std::sqrt(2.85 * kAll)), 5);
}

// The sampler's check on itself: the successes, dropped ones included, among the bytes of the
// blocks handed out, less the tails of drawn blocks, which are not tried.
TEST(ListSamplerLaw, SuccessesAmongAllTrialsAreBinomial) {
  constexpr std::uint64_t kInterval = 256, kSize = 100;
  ListHeap heap(901, kInterval, true);
  const std::size_t index = class_of(kSize);
  double hits = 0, tails = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const SampledList before = heap.list(index);
    const HandedOut object = heap.allocate(kSize);
    heap.free(kSize, object.block);
    if (before.left > 0 || before.skip >= before.block_size) continue;
    ++hits;
    tails += static_cast<double>(before.block_size - before.skip - 1);
  }
  ASSERT_EQ(heap.list(index).handed_out(), 1'000'000U);
  const double trials = static_cast<double>(kBlockSizes[index]) * 1e6 - tails;
  EXPECT_LT(std::abs(z_score(hits, trials, 1.0 / kInterval)), 5);
}

}  // namespace
}  // namespace geiger::sampling::list_sampler_stat_test
