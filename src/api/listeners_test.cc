#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;
using test::release;

TEST(Listeners, HearOfSamplesAndFrees) {
  std::vector<std::uint64_t> sampled, freed;
  const Listener listener(
      [&](const geiger_sample& sample) {
        EXPECT_EQ(sample.is_freed, 0);
        EXPECT_GT(sample.frame_count, 0);
        sampled.push_back(sample.address);
      },
      [&](const geiger_sample& sample) {
        EXPECT_EQ(sample.is_freed, 1);
        EXPECT_EQ(sample.requested, 2 * kInterval);
        freed.push_back(sample.address);
      });
  ASSERT_EQ(listener.status(), GEIGER_OK);
  const std::uint64_t first = allocate(2 * kInterval);
  const std::uint64_t second = allocate(2 * kInterval);
  release(first);
  EXPECT_EQ(sampled, (std::vector{first, second}));
  EXPECT_EQ(freed, (std::vector{first}));
}

TEST(Listeners, SeveralHearTheSame) {
  int first_calls = 0;
  int second_calls = 0;
  auto first = std::make_unique<Listener>([&](const geiger_sample&) { ++first_calls; });
  const Listener second([&](const geiger_sample&) { ++second_calls; });
  allocate(2 * kInterval);
  first.reset();
  allocate(2 * kInterval);
  EXPECT_EQ(first_calls, 1);
  EXPECT_EQ(second_calls, 2);
}

TEST(Listeners, AreNotToldOfTheirOwnAllocations) {
  int calls = 0;
  Token token;
  {
    const Listener listener([&](const geiger_sample&) {
      ++calls;
      allocate(2 * kInterval);
    });
    allocate(2 * kInterval);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(token.stop().info().samples, 2);  // But they are counted.
}

TEST(Listeners, ThatThrowAreNotCalledAgain) {
  int calls = 0;
  geiger_recorder before, after;
  ASSERT_EQ(geiger_get_status(&before), GEIGER_OK);
  {
    const Listener listener([&](const geiger_sample&) {
      ++calls;
      throw std::runtime_error("enough");
    });
    allocate(2 * kInterval);
    allocate(2 * kInterval);
  }
  ASSERT_EQ(geiger_get_status(&after), GEIGER_OK);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(after.failed_listeners, before.failed_listeners + 1);
  EXPECT_STREQ(after.listener_error, "enough");
  EXPECT_EQ(after.listeners, before.listeners);
}

TEST(Listeners, MayDoWhatTakesNoLock) {
  const Heap heap("listened");
  static geiger_listener self;
  std::vector<geiger_status> allowed, refused;
  const auto call = [&](const geiger_sample&) {
    geiger_scope scope;
    geiger_recorder recorder;
    geiger_token token;
    geiger_profile profile;
    geiger_listener listener;
    std::uint64_t interval;
    const auto nothing = [](void*, const geiger_sample*) {};
    allowed = {geiger_enter_label_text("in a listener", &scope),
               geiger_leave_label(&scope),
               heap.allocated(&interval, 8),
               heap.freed(&interval),
               geiger_write_mark("in a listener"),
               geiger_get_status(&recorder),
               geiger_get_interval_in_force(&interval)};
    refused = {geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token),
               geiger_stop_profile(token, nullptr),
               geiger_take_snapshot(GEIGER_LIVE, &profile),
               geiger_free_profile({1}),
               geiger_get_sampling_interval(&interval),
               geiger_set_sampling_interval(100),
               geiger_start_recording(),
               geiger_stop_recording(),
               geiger_add_listener(nothing, nullptr, nullptr, &listener),
               geiger_remove_listener(self)};
  };
  using Call = decltype(call);
  ASSERT_EQ(geiger_add_listener(
                [](void* context, const geiger_sample* sample) {
                  (*static_cast<Call*>(context))(*sample);
                },
                nullptr, const_cast<void*>(static_cast<const void*>(&call)), &self),
            GEIGER_OK);
  allocate(2 * kInterval);
  EXPECT_EQ(allowed, std::vector<geiger_status>(7, GEIGER_OK));
  EXPECT_EQ(refused, std::vector<geiger_status>(10, GEIGER_IN_LISTENER));
  EXPECT_EQ(geiger_remove_listener(self), GEIGER_OK);
  EXPECT_EQ(geiger_remove_listener(self), GEIGER_ALREADY_STOPPED);
}

TEST(Listeners, AreGoneWhenRemoved) {
  // The listener waits in its call until its removal has begun; the removal must return after the
  // call.
  std::atomic<bool> is_inside{false}, may_leave{false}, has_left{false};
  auto listener = std::make_unique<Listener>([&](const geiger_sample&) {
    is_inside = true;
    while (!may_leave) std::this_thread::yield();
    has_left = true;
  });
  std::thread program([] { allocate(2 * kInterval); });
  while (!is_inside) std::this_thread::yield();
  std::thread releaser([&] {
    geiger_recorder recorder;
    do {
      (void)geiger_get_status(&recorder);
    } while (recorder.listeners != 0);
    may_leave = true;
  });
  listener.reset();
  EXPECT_TRUE(has_left);
  program.join();
  releaser.join();
}

TEST(Listeners, ThatThrowWhileTheyAreRemovedAreGoneAndHaveNotFailed) {
  geiger_recorder before, after;
  ASSERT_EQ(geiger_get_status(&before), GEIGER_OK);
  std::atomic<bool> is_inside{false};
  auto listener = std::make_unique<Listener>([&](const geiger_sample&) {
    geiger_recorder recorder;
    is_inside = true;
    do {
      (void)geiger_get_status(&recorder);
    } while (recorder.listeners != before.listeners);
    throw std::runtime_error("too late");
  });
  std::thread program([] { allocate(2 * kInterval); });
  while (!is_inside) std::this_thread::yield();
  listener.reset();
  program.join();
  ASSERT_EQ(geiger_get_status(&after), GEIGER_OK);
  EXPECT_EQ(after.failed_listeners, before.failed_listeners);
}

TEST(Listeners, MayForkAndTheChildGoesOnInTheCall) {
  int status = 0;
  {
    const Listener listener([&](const geiger_sample&) {
      fflush(nullptr);
      const pid_t child = fork();
      if (child != 0) return void(waitpid(child, &status, 0));
      // The thread is still in the call, so functions that take the lock are refused.
      exit(geiger_start_recording() == GEIGER_IN_LISTENER ? 7 : 1);
    });
    allocate(2 * kInterval);
  }
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Listeners, AreRefusedBeyondTheirLimit) {
  const auto nothing = [](void*, const geiger_sample*) {};
  std::vector<geiger_listener> added;
  geiger_listener listener;
  for (int i = 0; i < GEIGER_MAX_LISTENERS; ++i) {
    ASSERT_EQ(geiger_add_listener(nothing, nothing, nullptr, &listener), GEIGER_OK);
    added.push_back(listener);
  }
  EXPECT_EQ(geiger_add_listener(nothing, nothing, nullptr, &listener), GEIGER_LIMIT);
  EXPECT_EQ(listener.id, 0);
  for (const geiger_listener each : added) EXPECT_EQ(geiger_remove_listener(each), GEIGER_OK);
  EXPECT_EQ(geiger_add_listener(nullptr, nullptr, nullptr, &listener), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_add_listener(nothing, nothing, nullptr, nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_remove_listener({0}), GEIGER_BAD_HANDLE);
  EXPECT_EQ(geiger_remove_listener({~std::uint64_t{0}}), GEIGER_BAD_HANDLE);
}

}  // namespace
}  // namespace geiger::api
