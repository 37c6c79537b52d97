#include "geiger/arena_heap.h"

#include <gtest/gtest.h>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

struct Order {
  char bytes[120];
};

TEST(ArenaHeap, HasTheArenasSamples) {
  const Heap heap("arena");
  const auto of_heap = [](const geiger_sample&) { return true; };
  Token token(GEIGER_LIFETIMES, 512);
  Arena arena({.seed = 7, .sink = sink_of(heap.id())});
  for (int i = 0; i < 5000; ++i) (void)arena.make<Order>();
  (void)arena.allocate(100'000, 64);
  const ArenaTotals totals = arena.totals();
  EXPECT_EQ(arena.interval(), 512);
  EXPECT_EQ(totals.dropped, 0);
  const Profile live = Profile::snapshot();
  std::uint64_t samples = 0;
  live.for_each([&](const geiger_sample& sample) {
    if (sample.heap != heap.id()) return;
    ++samples;
    EXPECT_EQ(sample.interval, 512);
    EXPECT_EQ(sample.is_certain != 0, sample.requested == 100'000);
    EXPECT_TRUE(sample.is_certain != 0 || view(sample.type).ends_with("Order"));
  });
  EXPECT_EQ(samples, totals.samples);
  // Five standard errors: once in two million seeds.
  const geiger_estimate estimate = live.total_where(of_heap, GEIGER_BYTES, 0.9999994, heap.id());
  const double truth = 5000 * sizeof(Order) + 100'000;
  EXPECT_LE(estimate.lowest, truth);
  EXPECT_GE(estimate.highest, truth);
  arena.reset();
  std::uint64_t freed = 0;
  token.stop().for_each([&](const geiger_sample& sample) {
    freed += sample.heap == heap.id() && sample.is_freed != 0;
  });
  EXPECT_EQ(freed, totals.samples);
}

TEST(ArenaHeap, FollowsTheIntervalAndSaysWithWhichItDrew) {
  const Heap heap("arena with intervals");
  const Token token;
  Arena arena({.seed = 8, .sink = sink_of(heap.id())});
  for (const std::uint64_t interval : {64, 1000, 1, 1'000'003}) {
    ASSERT_EQ(geiger_set_sampling_interval(interval), GEIGER_OK);
    // The first object after a change still has the old interval's trials.
    for (int i = 0; i < 3; ++i) (void)arena.allocate(4'000'000);
    arena.reset();
    (void)arena.allocate(4'000'000);
    bool is_found = false;
    Profile::snapshot().for_each([&](const geiger_sample& sample) {
      if (sample.heap != heap.id()) return;
      is_found = true;
      EXPECT_EQ(sample.interval, interval);
    });
    EXPECT_TRUE(is_found);
  }
  ASSERT_EQ(geiger_set_sampling_interval(test::kInterval), GEIGER_OK);
}

}  // namespace
}  // namespace geiger::api
