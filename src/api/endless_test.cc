// A recording in memory that is much longer than its memory: live objects, tokens and listeners
// stay correct from trace to trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

/// Four traces of 512 KiB: 3,000 samples and their frees until the next.
extern "C" const char geiger_test_capacity[];
const char geiger_test_capacity[] = "2097152";

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;
using test::release;
using test::samples_of;

/// A heap of a bounded size that replaces its objects.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t size = test::random_size(random_);
      const std::uint64_t address = allocate(size);
      sizes_.emplace(address, size);
      live_.push_back(address);
      bytes_ += size;
      if (live_.size() > kObjects) free_at(random_() % live_.size());
    }
  }
  void free_all() {
    while (!live_.empty()) free_at(live_.size() - 1);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& sizes() const { return sizes_; }

 private:
  static constexpr std::size_t kObjects = 2000;

  void free_at(std::size_t index) {
    std::swap(live_[index], live_.back());
    release(live_.back());
    const auto at = sizes_.find(live_.back());
    bytes_ -= at->second;
    sizes_.erase(at);
    live_.pop_back();
  }

  std::mt19937_64 random_;
  std::map<std::uint64_t, std::uint64_t> sizes_;
  std::vector<std::uint64_t> live_;
  std::uint64_t bytes_ = 0;
};

geiger_recorder recorder() {
  geiger_recorder found;
  EXPECT_EQ(geiger_get_status(&found), GEIGER_OK);
  return found;
}

class Endless : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(geiger_start_recording(), GEIGER_OK); }
  void TearDown() override {
    EXPECT_EQ(recorder().dropped, 0);
    EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  }
};

/// 60 snapshots while some 165,000 samples are taken: 50 times the capacity of a trace. The
/// intervals have a level of 0.9999, so that all cover: a false alarm in 160.
TEST_F(Endless, SnapshotsHoldWhatLives) {
  Program program(1);
  std::uint64_t samples = 0;
  const Listener count([&](const geiger_sample&) { ++samples; });
  for (int i = 0; i < 60; ++i) {
    program.run(10'000);
    const Profile live = Profile::snapshot();
    ASSERT_TRUE(live);
    ASSERT_EQ(live.info().unfinished, 0);
    const geiger_estimate bytes = live.total(GEIGER_BYTES, 0.9999);
    EXPECT_LE(bytes.lowest, program.bytes()) << i;
    EXPECT_GE(bytes.highest, program.bytes()) << i;
    live.for_each([&](const geiger_sample& sample) {
      const auto at = program.sizes().find(sample.address);
      ASSERT_TRUE(at != program.sizes().end()) << "it was freed";
      ASSERT_EQ(sample.requested, at->second);
      ASSERT_GT(sample.frame_count, 0);
    });
    const geiger_recorder found = recorder();
    ASSERT_TRUE(found.is_recording);
    ASSERT_LE(found.trace_bytes, found.trace_capacity);
    ASSERT_EQ(found.trace_capacity, 2097152 / 4);
  }
  EXPECT_GT(samples, 150'000);
  program.free_all();
  const Profile live = Profile::snapshot();
  EXPECT_EQ(live.info().samples, 0);
}

/// If every byte is drawn nothing may be missing, and every free must be recorded.
TEST_F(Endless, TokensGoFromTraceToTrace) {
  ASSERT_EQ(geiger_set_sampling_interval(1), GEIGER_OK);
  ASSERT_EQ(geiger_record_free_stacks(1), GEIGER_OK);
  Program program(2);
  program.run(2000);
  for (int round = 0; round < 40; ++round) {
    Token token(GEIGER_LIFETIMES), complete(GEIGER_COMPLETE_LIFETIMES);
    const std::uint64_t first = test::allocations + 1;
    program.run(4'000);  // Some 350 KB of records: mostly in two traces.
    const std::uint64_t end = test::allocations + 1;
    const Profile profile = token.stop();
    ASSERT_TRUE(profile);
    const Profile pairs = complete.stop();
    program.run(1000);
    std::uint64_t alive = 0;
    std::set<std::uint64_t> seen;
    ASSERT_EQ(profile.for_each([&](const geiger_sample& sample) {
      const std::uint64_t number = test::number_of(sample.address);
      EXPECT_TRUE(number >= first && number < end);
      EXPECT_TRUE(seen.insert(number).second);
      alive += sample.is_freed == 0;
      if (sample.is_freed == 0) return;
      EXPECT_GT(sample.free_frame_count, 0);
      EXPECT_EQ(sample.free_thread, sample.thread);
      EXPECT_FALSE(program.sizes().contains(sample.address));
    }),
              GEIGER_OK);
    EXPECT_EQ(seen.size(), end - first);
    EXPECT_GT(alive, 500);
    EXPECT_LT(alive, 2001);
    EXPECT_EQ(pairs.info().samples, seen.size() - alive);
  }
  program.free_all();
  ASSERT_EQ(geiger_record_free_stacks(0), GEIGER_OK);
  ASSERT_EQ(geiger_set_sampling_interval(kInterval), GEIGER_OK);
}

TEST_F(Endless, TokensThatTheTraceNoLongerReachesBackToSaySo) {
  Program program(3);
  Token early;
  program.run(200'000);
  const Profile profile = early.stop();
  ASSERT_TRUE(profile) << "it ends; its samples are what is gone";
  geiger_profile_info info;
  EXPECT_EQ(geiger_get_profile_info(profile.get(), &info), GEIGER_OVERWRITTEN);
  EXPECT_EQ(info.samples, 0);
  EXPECT_EQ(profile.for_each([](const geiger_sample&) {}), GEIGER_OVERWRITTEN);
  program.free_all();
}

TEST_F(Endless, MetricsAreOfTheLiveHeap) {
  Program program(5);
  program.run(20'000);
  const std::string text = openmetrics();
  EXPECT_NE(text.find("geiger_recording 1\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  const auto value_of = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  };
  const Profile live = Profile::snapshot();
  EXPECT_EQ(value_of("geiger_live_heap_bytes"), live.total().value);
  EXPECT_EQ(value_of("geiger_live_heap_lower_bytes"), live.total().lowest);
  EXPECT_EQ(value_of("geiger_live_heap_upper_objects"), live.total(GEIGER_OBJECTS).highest);
  EXPECT_EQ(value_of("geiger_allocated_bytes_total"),
            static_cast<double>(process_allocated_bytes().bytes));
  const auto refuses = [](void*, const void*, std::size_t) { return 1; };
  EXPECT_EQ(geiger_write_openmetrics(0.95, refuses, nullptr), GEIGER_FAILED_IO);
  EXPECT_EQ(geiger_write_openmetrics(95, refuses, nullptr), GEIGER_BAD_LEVEL);
  EXPECT_EQ(geiger_write_openmetrics(0.95, nullptr, nullptr), GEIGER_BAD_ARGUMENT);
  program.free_all();
}

TEST_F(Endless, WhatWasReadStays) {
  Program program(4);
  program.run(5'000);
  const LabelScope label("tenant=acme");
  struct Order {};
  const TypeScope<Order> type;
  const std::uint64_t labelled = allocate(10 * kInterval);
  const Profile live = Profile::snapshot();
  std::vector<std::uint64_t> frames;
  const auto check = [&] {
    live.for_each([&](const geiger_sample& sample) {
      if (sample.address != labelled) return;
      EXPECT_EQ(sample.label_count, 1);
      EXPECT_EQ(view(sample.labels[0]), "tenant=acme");
      EXPECT_NE(view(sample.type).find("Order"), std::string_view::npos);
      const std::vector<std::uint64_t> now(sample.frames, sample.frames + sample.frame_count);
      if (!frames.empty()) {
        EXPECT_EQ(now, frames);
      }
      frames = now;
    });
    return live.total().value;
  };
  const double before = check();
  EXPECT_FALSE(frames.empty());
  program.run(200'000);
  EXPECT_EQ(check(), before);
  // It stays live, with its names.
  bool is_found = false;
  Profile::snapshot().for_each([&](const geiger_sample& sample) {
    if (sample.address != labelled) return;
    is_found = true;
    EXPECT_EQ(view(sample.labels[0]), "tenant=acme");
    EXPECT_EQ(std::vector<std::uint64_t>(sample.frames, sample.frames + sample.frame_count),
              frames);
  });
  EXPECT_TRUE(is_found);
  release(labelled);
  program.free_all();
}

/// Threads that allocate, and one that takes snapshots meanwhile: an object that is always live is
/// in each of them once.
TEST_F(Endless, SnapshotsAreWholeWhileThreadsGoOn) {
  std::vector<std::uint64_t> stays;
  for (int i = 0; i < 500; ++i) stays.push_back(allocate(kInterval));
  const std::set<std::uint64_t> expected(stays.begin(), stays.end());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 1; thread <= 3; ++thread) {
    threads.emplace_back([&, thread] {
      capture::begin_thread();
      for (std::uint64_t i = 1; !is_over; i = i % 1000 + 1) {
        const std::uint64_t address = (thread << 40) + (i << 8);
        test::allocate_at(address, kInterval);
        release(address);
      }
      capture::end_thread();
    });
  }
  for (int i = 0; i < 200; ++i) {
    const Profile live = Profile::snapshot();
    ASSERT_TRUE(live);
    std::multiset<std::uint64_t> found;
    live.for_each([&](const geiger_sample& sample) {
      if (expected.contains(sample.address)) found.insert(sample.address);
    });
    ASSERT_EQ(found.size() + live.info().unfinished, stays.size()) << i;
    ASSERT_EQ(std::set(found.begin(), found.end()).size(), found.size());
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t address : stays) release(address);
}

/// A custom heap's check on itself: 5 sigmas, a false alarm in 1.7 million.
TEST_F(Endless, CustomHeapsAreDrawnWithOneStream) {
  const Heap heap("endless");
  for (std::uint64_t i = 1; i <= 300'000; ++i) {
    const void* address = reinterpret_cast<const void*>(i % 1000 + 1);
    EXPECT_EQ(heap.allocated(address, 500), GEIGER_OK);
    EXPECT_EQ(heap.freed(address), GEIGER_OK);
  }
  const geiger_heap_totals totals = heap.totals();
  EXPECT_LE(totals.bytes, 150'000'000);
  EXPECT_GT(totals.bytes, 150'000'000 - kInterval);
  EXPECT_LT(std::abs(totals.z), 5);
  EXPECT_GT(totals.hits, 30'000);
}

}  // namespace
}  // namespace geiger::api
