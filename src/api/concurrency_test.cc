// Everything at once, in few threads: for the sanitizers, and for bugs that need interleaving.
// Totals are exact at the end.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

constexpr int kRounds = 150;

void allocate_under_labels(std::uint64_t thread, const Heap& heap) {
  static constinit Label request{"request"};
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const LabelScope outer(request);
    const LabelScope inner(("round=" + std::to_string(round % 10)).c_str());
    EXPECT_EQ(inner.status(), GEIGER_OK);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t number = (thread + 1) << 24 | (round * 100 + i);
      const std::uint64_t address = test::allocate_at(test::address_of(number), 100);
      const auto* block = reinterpret_cast<const void*>(address);
      EXPECT_EQ(heap.allocated(block, 100), GEIGER_OK);
      if (i % 2 == 0) {
        heap.freed(block);
        test::release(address);
      }
    }
  }
}

void profile(std::uint64_t interval) {
  for (int round = 0; round < kRounds; ++round) {
    Token token(GEIGER_LIFETIMES, interval);
    ASSERT_EQ(token.status(), GEIGER_OK);
    const Profile live = Profile::snapshot();
    live.for_each([](const geiger_sample& sample) {
      EXPECT_GE(sample.weight, 1);
      EXPECT_LE(sample.label_count, 2);
    });
    const Profile done = token.stop();
    EXPECT_EQ(done.info().unfinished, 0);
    EXPECT_GE(done.total().value, 0);
  }
}

void listen(std::atomic<int>& calls) {
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> is_alive{true};
    auto listener = std::make_unique<Listener>([&](const geiger_sample&) {
      EXPECT_TRUE(is_alive);
      ++calls;
    });
    std::this_thread::yield();
    listener.reset();
    is_alive = false;  // No call may come from now on.
  }
}

TEST(Concurrency, LeavesNothingBehind) {
  const Heap heap("concurrent");
  ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] { allocate_under_labels(thread, heap); });
  }
  for (const std::uint64_t interval : {0, 64, 20000}) {
    threads.emplace_back([interval] { profile(interval); });
  }
  threads.emplace_back([&] { listen(calls); });
  for (std::thread& thread : threads) thread.join();
  geiger_recorder recorder;
  ASSERT_EQ(geiger_get_status(&recorder), GEIGER_OK);
  EXPECT_EQ(recorder.open_tokens, 0);
  EXPECT_EQ(recorder.listeners, 0);
  EXPECT_EQ(recorder.interval, test::kInterval);
  EXPECT_EQ(recorder.dropped, 0);
  EXPECT_LT(std::abs(heap.totals().z), 5);  // Once in two million seeds.
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
}

}  // namespace
}  // namespace geiger::api
