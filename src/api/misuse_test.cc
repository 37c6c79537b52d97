#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;

TEST(Misuse, OfIntervals) {
  geiger_token token{5};
  for (const std::uint64_t wrong : {GEIGER_MAX_INTERVAL + 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(geiger_set_sampling_interval(wrong), GEIGER_BAD_INTERVAL);
    EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, wrong, &token), GEIGER_BAD_INTERVAL);
    EXPECT_EQ(token.id, 0);
  }
  EXPECT_EQ(geiger_set_sampling_interval(0), GEIGER_BAD_INTERVAL);
  EXPECT_EQ(geiger_get_sampling_interval(nullptr), GEIGER_BAD_ARGUMENT);
  for (const std::uint64_t right : {std::uint64_t{1}, GEIGER_MAX_INTERVAL, kInterval}) {
    std::uint64_t read = 0;
    EXPECT_EQ(geiger_set_sampling_interval(right), GEIGER_OK);
    EXPECT_EQ(geiger_get_sampling_interval(&read), GEIGER_OK);
    EXPECT_EQ(read, right);
  }
}

TEST(Misuse, OfTokensAndProfiles) {
  geiger_token token{};
  geiger_profile profile{};
  EXPECT_EQ(geiger_start_profile(GEIGER_LIVE, 0, &token), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_start_profile(static_cast<geiger_profile_kind>(77), 0, &token),
            GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_take_snapshot(GEIGER_ALLOCATIONS, &profile), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_stop_profile({0}, &profile), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_stop_profile({1 << 30}, &profile), GEIGER_BAD_HANDLE);
  ASSERT_EQ(geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token), GEIGER_OK);
  ASSERT_EQ(geiger_stop_profile(token, &profile), GEIGER_OK);
  geiger_profile again{9};
  EXPECT_EQ(geiger_stop_profile(token, &again), GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(again.id, 0);
  EXPECT_EQ(geiger_free_profile(profile), GEIGER_OK);
  EXPECT_EQ(geiger_free_profile(profile), GEIGER_ALREADY_STOPPED);
  geiger_profile_info info;
  geiger_estimate estimate;
  const auto visit = [](void*, const geiger_sample*) { return 0; };
  EXPECT_EQ(geiger_get_profile_info(profile, &info), GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(geiger_visit_samples(profile, visit, nullptr), GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(geiger_visit_samples({1 << 30}, visit, nullptr), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_visit_samples(profile, nullptr, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_estimate_total(profile, GEIGER_BYTES, 0, nullptr, nullptr, 0.95, &estimate),
            GEIGER_ALREADY_STOPPED);
  EXPECT_EQ(geiger_write_pprof_to(profile, 0, 1), GEIGER_ALREADY_STOPPED);
}

TEST(Misuse, OfEstimates) {
  Token token;
  allocate(2 * kInterval);
  const Profile profile = token.stop();
  geiger_estimate estimate;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double level : {nan, 0.0, 1.0, -0.5, 95.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(
        geiger_estimate_total(profile.get(), GEIGER_BYTES, 0, nullptr, nullptr, level, &estimate),
        GEIGER_BAD_LEVEL);
    EXPECT_EQ(estimate.value, 0);
  }
  EXPECT_EQ(geiger_estimate_total(profile.get(), static_cast<geiger_measure>(9), 0, nullptr,
                                  nullptr, 0.95, &estimate),
            GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(
      geiger_estimate_total(profile.get(), GEIGER_BYTES, 256, nullptr, nullptr, 0.95, &estimate),
      GEIGER_WRONG_HEAP);
  EXPECT_EQ(profile.total().value, 2 * kInterval);
  EXPECT_EQ(profile.total(GEIGER_OBJECTS).value, 1);
  // No sample counts: the value is 0, with the limit of what was missed.
  const geiger_estimate none = profile.total_where([](const geiger_sample&) { return false; });
  EXPECT_EQ(none.value, 0);
  EXPECT_GT(none.highest, 3.6 * kInterval);
  EXPECT_LT(none.highest, 3.7 * kInterval);
}

TEST(Misuse, OfCallbacks) {
  Token token;
  allocate(2 * kInterval);
  const Profile profile = token.stop();
  const auto throws = [](void*, const geiger_sample*) -> int { throw 7; };
  geiger_estimate estimate;
  EXPECT_EQ(geiger_visit_samples(profile.get(), throws, nullptr), GEIGER_THREW);
  EXPECT_EQ(geiger_estimate_total(profile.get(), GEIGER_BYTES, 0, throws, nullptr, 0.95, &estimate),
            GEIGER_THREW);
  EXPECT_THROW(profile.for_each([](const geiger_sample&) { throw std::string("mine"); }),
               std::string);
  const auto refuses = [](void*, const void*, std::size_t) { return 1; };
  EXPECT_EQ(geiger_write_pprof(profile.get(), 0, refuses, nullptr), GEIGER_FAILED_IO);
  EXPECT_EQ(geiger_write_pprof(profile.get(), 0, nullptr, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_write_pprof_to(profile.get(), 0, -1), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_write_pprof_to(profile.get(), 0, 1 << 20), GEIGER_FAILED_IO);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(geiger_write_pprof_file(profile.get(), 0, "/nowhere/at/all"), GEIGER_FAILED_IO);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(geiger_write_pprof_file(profile.get(), 0, nullptr), GEIGER_BAD_ARGUMENT);
}

TEST(Misuse, OfTexts) {
  EXPECT_EQ(geiger_write_mark(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_write_mark(""), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_write_mark(std::string(1025, 'm').c_str()), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_write_mark(std::string(1024, 'm').c_str()), GEIGER_OK);
  EXPECT_EQ(geiger_get_status(nullptr), GEIGER_BAD_ARGUMENT);
}

TEST(Misuse, EveryStatusHasItsWords) {
  for (int status = GEIGER_OK; status <= GEIGER_OVERWRITTEN; ++status) {
    EXPECT_STRNE(geiger_status_message(static_cast<geiger_status>(status)), "unknown status");
  }
  EXPECT_STREQ(geiger_status_message(static_cast<geiger_status>(-1)), "unknown status");
  EXPECT_STREQ(geiger_status_message(static_cast<geiger_status>(1000)), "unknown status");
}

/// Runs `body` in a fork's child; returns the number of expectations that failed there.
template <typename Body>
int failures_in_child(const Body& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Fork, ChildHasNoTokensOfItsParent) {
  Token running(GEIGER_ALLOCATIONS, 100), done;
  allocate(2 * kInterval);
  const Profile unread = done.stop();
  Token done_too;
  allocate(2 * kInterval);
  const Profile read = done_too.stop();
  EXPECT_EQ(read.info().samples, 1);
  EXPECT_EQ(failures_in_child([&] {
              geiger_profile_info info;
              geiger_recorder recorder;
              EXPECT_EQ(running.stop().info().samples, 0);
              EXPECT_EQ(running.status(), GEIGER_OTHER_PROCESS);
              EXPECT_EQ(geiger_get_profile_info(unread.get(), &info), GEIGER_OTHER_PROCESS);
              EXPECT_EQ(read.info().samples, 1);
              // No request of the parent's token is left.
              EXPECT_EQ(geiger_get_status(&recorder), GEIGER_OK);
              EXPECT_EQ(recorder.interval, kInterval);
              EXPECT_EQ(recorder.is_paused, 1);
              Token own;
              EXPECT_EQ(own.status(), GEIGER_OK);
              allocate(3 * kInterval);
              EXPECT_EQ(own.stop().info().samples, 1);
            }),
            0);
  EXPECT_EQ(unread.info().samples, 1);
  EXPECT_EQ(running.stop().info().samples, 2);
}

TEST(Fork, ListenersAndRecordingsGoOn) {
  int calls = 0;
  const Listener listener([&](const geiger_sample&) { ++calls; });
  ASSERT_EQ(geiger_set_sampling_interval(2 * kInterval), GEIGER_OK);
  EXPECT_EQ(failures_in_child([&] {
              std::uint64_t interval = 0;
              allocate(5 * kInterval);
              EXPECT_EQ(calls, 1);
              EXPECT_EQ(geiger_get_sampling_interval(&interval), GEIGER_OK);
              EXPECT_EQ(interval, 2 * kInterval);
            }),
            0);
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(geiger_set_sampling_interval(kInterval), GEIGER_OK);
}

TEST(Fork, ChildDrawsOtherBytesOfCustomHeaps) {
  const Heap heap("forked");
  // Objects of one byte: the gaps between samples are the skip counts, wherever they begin.
  const auto gaps = [&] {
    Token token(GEIGER_ALLOCATIONS, 256);
    for (std::uintptr_t i = 1; i < 20'000; ++i) {
      heap.allocated(reinterpret_cast<const void*>(i), 1);
    }
    std::vector<std::uint64_t> drawn;
    token.stop().for_each([&](const geiger_sample& sample) { drawn.push_back(sample.address); });
    heap.reset();
    std::adjacent_difference(drawn.begin(), drawn.end(), drawn.begin());
    return std::set<std::uint64_t>(drawn.begin(), drawn.end());
  };
  gaps();
  constexpr std::size_t kCount = 20;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_EQ(failures_in_child([&] {
              const std::set<std::uint64_t> own = gaps();
              ASSERT_GT(own.size(), kCount);
              const std::vector<std::uint64_t> largest(own.rbegin(), own.rend());
              EXPECT_EQ(write(pipes[1], largest.data(), 8 * kCount), 8 * kCount);
            }),
            0);
  std::vector<std::uint64_t> childs(kCount);
  ASSERT_EQ(read(pipes[0], childs.data(), 8 * kCount), 8 * kCount);
  const std::set<std::uint64_t> own = gaps();
  std::size_t common = 0;
  for (const std::uint64_t gap : childs) common += own.contains(gap);
  EXPECT_LT(common, kCount / 2);  // With the same stream all but the first and last would be
                                  // common.
}

TEST(Threads, MayBeCancelledInAListener) {
  const Listener listener([](const geiger_sample&) { pthread_exit(nullptr); });
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  allocate(2 * kInterval);
                  return nullptr;
                },
                nullptr),
            0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
}  // The listener's removal would hang if the call had not ended.

}  // namespace
}  // namespace geiger::api
