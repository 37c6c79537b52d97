#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

#include "api/connection.h"
#include "api/test_program.h"
#include "geiger/geiger.hpp"
#include "sampling/samplers.h"

namespace geiger::api {
namespace {

using test::kInterval;

const void* at(std::uint64_t number) { return reinterpret_cast<const void*>(number << 4); }

std::map<std::uint64_t, geiger_sample> samples_of(const Profile& profile, geiger_heap heap) {
  std::map<std::uint64_t, geiger_sample> samples;
  profile.for_each([&](const geiger_sample& sample) {
    if (sample.heap == heap) samples.emplace(sample.address >> 4, sample);
  });
  return samples;
}

TEST(CustomHeaps, AreTheSameByName) {
  const Heap pool("pool"), same("pool"), other("other");
  EXPECT_EQ(pool.status(), GEIGER_OK);
  EXPECT_EQ(pool.id(), same.id());
  EXPECT_NE(pool.id(), other.id());
}

TEST(CustomHeaps, DrawWithTheSamplersOwnRules) {
  // A sampler of the same seed beside it, also where an object ends at the drawn byte.
  const Heap heap("exact");
  Token token;
  ASSERT_EQ(heap.allocated(at(1), 1), GEIGER_OK);  // Starts the thread's sampler.
  std::mt19937_64 random(1);
  std::map<std::uint64_t, std::uint64_t> expected;
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 20000; ++i) sizes.push_back(test::random_size(random));
  std::uint64_t hits = 0;
  for (std::uint64_t number = 2; number < sizes.size(); ++number) {
    ASSERT_EQ(heap.allocated(at(number), sizes[number]), GEIGER_OK);
  }
  const auto samples = samples_of(token.stop(), heap.id());
  // The gaps between hits are what counts: rebuild the skip counts from the samples and
  // see that no object was passed over or drawn twice.
  std::uint64_t trials = 1;
  for (std::uint64_t number = 2; number < sizes.size(); ++number) {
    const auto found = samples.find(number);
    const bool is_certain = sizes[number] >= kInterval;
    EXPECT_EQ(found != samples.end() && found->second.is_certain != 0, is_certain);
    if (is_certain) continue;
    if (found == samples.end()) {
      trials += sizes[number];
    } else {
      EXPECT_LT(found->second.offset, sizes[number]);
      trials += found->second.offset + 1;
      ++hits;
    }
  }
  const geiger_heap_totals totals = heap.totals();
  EXPECT_EQ(totals.hits, hits);
  // What the thread has not settled yet is below one interval, and failed.
  EXPECT_LE(totals.trials, trials);
  EXPECT_LT(trials - totals.trials, kInterval);
  EXPECT_LT(std::abs(totals.z), 4);
  (void)expected;
}

// In a row, each with the probability of a byte. Within five standard errors: false alarm 6e-7.
TEST(CustomHeaps, ObjectsWithoutBytesAreDrawnOneByOne) {
  const Heap heap("empty");
  Token token;
  constexpr double kExpected = 100;
  for (std::uint64_t i = 1; i <= 100 * kInterval; ++i) heap.allocated(at(i), 0);
  const auto samples = samples_of(token.stop(), heap.id());
  EXPECT_NEAR(static_cast<double>(samples.size()), kExpected, 5 * std::sqrt(kExpected));
  EXPECT_EQ(heap.totals().bytes, 0U);
  EXPECT_EQ(heap.totals().trials, 0U);
}

TEST(CustomHeaps, AreFreedOneByOneOrAllAtOnce) {
  const Heap heap("freed"), other("not freed");
  Token token(GEIGER_LIFETIMES);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    heap.allocated(at(i), 2 * kInterval);
    other.allocated(at(i), 2 * kInterval);
  }
  EXPECT_EQ(heap.freed(at(3)), GEIGER_OK);
  EXPECT_EQ(heap.freed(at(3)), GEIGER_OK);  // Not a live sample: ignored.
  Profile live = Profile::snapshot();
  EXPECT_EQ(samples_of(live, heap.id()).size(), 9);
  EXPECT_FALSE(samples_of(live, heap.id()).contains(3));
  EXPECT_EQ(heap.reset(), GEIGER_OK);
  live = Profile::snapshot();
  EXPECT_EQ(samples_of(live, heap.id()).size(), 0);
  EXPECT_EQ(samples_of(live, other.id()).size(), 10);
  EXPECT_EQ(other.reset(), GEIGER_OK);
  for (const auto& [number, sample] : samples_of(token.stop(), heap.id())) {
    EXPECT_EQ(sample.is_freed, 1) << number;
  }
}

TEST(CustomHeaps, ThreadsDrawApartAndGoOnWithEachOthersCounters) {
  const Heap heap("threads");
  Token token;
  std::vector<std::uint64_t> first_numbers;
  for (std::uint64_t thread = 0; thread < 8; ++thread) {
    std::thread([&] {
      for (std::uint64_t i = 0; i < 2000; ++i) heap.allocated(at(1 + thread * 10000 + i), 100);
    }).join();
  }
  const geiger_heap_totals totals = heap.totals();
  EXPECT_LE(totals.bytes, 8 * 2000 * 100);
  EXPECT_GT(totals.bytes, 8 * 2000 * 100 - kInterval);  // One counter for all.
  const auto samples = samples_of(token.stop(), heap.id());
  EXPECT_EQ(samples.size(), totals.hits);
  EXPECT_LT(std::abs(totals.z), 4);
}

TEST(CustomHeaps, FollowTheInterval) {
  const Heap heap("intervals");
  Token coarse;
  {
    Token fine(GEIGER_ALLOCATIONS, 16);
    for (std::uint64_t i = 1; i < 3000; ++i) heap.allocated(at(i), 8);
    // Until the pending skip count is used up, the thread draws at the old interval.
    const auto samples = samples_of(fine.stop(), heap.id());
    EXPECT_GT(samples.size(), 300);
  }
  EXPECT_LT(samples_of(coarse.stop(), heap.id()).size(), 100);
  EXPECT_LT(std::abs(heap.totals().z), 4);
}

TEST(CustomHeaps, TypesAndSizesAreTheReporters) {
  const Heap heap("described");
  geiger_type type = GEIGER_TYPE("Texture");
  Token token;
  const geiger_allocation allocation{at(5), 3 * kInterval, 4 * kInterval, 4096, &type};
  ASSERT_EQ(geiger_report_allocation_of(heap.id(), &allocation), GEIGER_OK);
  const auto samples = samples_of(token.stop(), heap.id());
  ASSERT_EQ(samples.size(), 1);
  const geiger_sample& sample = samples.at(5);
  EXPECT_EQ(view(sample.type), "Texture");
  EXPECT_EQ(sample.requested, 3 * kInterval);
  EXPECT_EQ(sample.usable, 4 * kInterval);
  EXPECT_EQ(sample.alignment, 4096);
}

TEST(CustomHeaps, TakeWhatOthersDrew) {
  const Heap heap("drawn elsewhere");
  Token token(GEIGER_ALLOCATIONS, 10);
  const geiger_drawn drawn{{at(7), 100, 0, 0, nullptr}, 64, 99, 0};
  ASSERT_EQ(geiger_report_drawn(heap.id(), &drawn), GEIGER_OK);
  const auto samples = samples_of(token.stop(), heap.id());
  ASSERT_EQ(samples.size(), 1);
  EXPECT_EQ(samples.at(7).interval, 64);
  EXPECT_EQ(samples.at(7).offset, 99);
  const double pi = -std::expm1(-sampling::rate_of(64) * 100);
  EXPECT_NEAR(samples.at(7).weight, 1 / pi, 1e-12);
  geiger_drawn wrong = drawn;
  wrong.offset = 100;
  EXPECT_EQ(geiger_report_drawn(heap.id(), &wrong), GEIGER_BAD_ARGUMENT);
  wrong = drawn;
  wrong.interval = 0;
  EXPECT_EQ(geiger_report_drawn(heap.id(), &wrong), GEIGER_BAD_INTERVAL);
  wrong = drawn;
  wrong.is_certain = 1;
  wrong.interval = 101;
  EXPECT_EQ(geiger_report_drawn(heap.id(), &wrong), GEIGER_BAD_ARGUMENT);
}

TEST(CustomHeaps, RefuseWhatCannotBe) {
  const Heap heap("refusing");
  const void* far = reinterpret_cast<const void*>(std::uint64_t{1} << 48);
  geiger_heap id = 7;
  EXPECT_EQ(geiger_define_heap(nullptr, &id), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(id, 0);
  EXPECT_EQ(geiger_define_heap("", &id), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_define_heap("x", nullptr), GEIGER_BAD_ARGUMENT);
  for (const geiger_heap wrong : {0U, 200U, 255U, 256U, ~0U}) {
    geiger_heap_totals totals;
    EXPECT_EQ(geiger_report_allocation(wrong, at(1), 8), GEIGER_WRONG_HEAP) << wrong;
    EXPECT_EQ(geiger_report_free(wrong, at(1)), GEIGER_WRONG_HEAP);
    EXPECT_EQ(geiger_report_reset(wrong), GEIGER_WRONG_HEAP);
    EXPECT_EQ(geiger_get_heap_totals(wrong, &totals), GEIGER_WRONG_HEAP);
  }
  EXPECT_EQ(heap.allocated(nullptr, 8), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(heap.allocated(far, 8), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(heap.allocated(at(1), ~std::size_t{0}), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(heap.allocated(at(1), 0), GEIGER_OK);
  EXPECT_EQ(heap.freed(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(heap.freed(far), GEIGER_BAD_ARGUMENT);
  const geiger_allocation odd{at(1), 8, 8, 3, nullptr};
  EXPECT_EQ(geiger_report_allocation_of(heap.id(), &odd), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_report_allocation_of(heap.id(), nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_get_heap_totals(heap.id(), nullptr), GEIGER_BAD_ARGUMENT);
}

}  // namespace
}  // namespace geiger::api
