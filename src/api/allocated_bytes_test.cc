// Bytes requested by threads and the process, compared with the tests' own sums.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/test_program.h"
#include "geiger/geiger.hpp"

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;

std::uint64_t of_thread() {
  std::uint64_t bytes = 1;
  EXPECT_EQ(geiger_get_thread_allocated_bytes(&bytes), GEIGER_OK);
  return bytes;
}

std::uint64_t of_process() {
  const ProcessBytes found = process_allocated_bytes();
  EXPECT_EQ(found.status, GEIGER_OK);
  EXPECT_EQ(found.missing, 0);
  return found.bytes;
}

/// Allocates at random and returns the sum.
std::uint64_t churn(std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  std::uint64_t sum = 0;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t size = test::random_size(random);
    test::allocate_at(test::address_of(seed << 32 | static_cast<unsigned>(i)), size);
    sum += size;
  }
  return sum;
}

TEST(AllocatedBytes, OfAThreadAreExactAfterEveryAllocation) {
  std::mt19937_64 random(7);
  for (const bool is_recorded : {false, true, false}) {
    if (is_recorded) {
      ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
    }
    for (int i = 0; i < 5000; ++i) {
      const AllocationMeter meter;
      const std::uint64_t before = of_process();
      const std::uint64_t size = test::random_size(random);
      allocate(size);
      ASSERT_EQ(meter.bytes(), size) << i << " recorded: " << is_recorded;
      ASSERT_EQ(of_process() - before, size);
    }
    if (is_recorded) {
      ASSERT_EQ(geiger_stop_recording(), GEIGER_OK);
    }
  }
}

TEST(AllocatedBytes, DoNotDependOnTheInterval) {
  for (const std::uint64_t interval : {std::uint64_t{1}, std::uint64_t{1} << 30, kInterval}) {
    const AllocationMeter meter;
    allocate(100);
    ASSERT_EQ(geiger_set_sampling_interval(interval), GEIGER_OK);
    allocate(3000);
    EXPECT_EQ(meter.bytes(), 3100) << interval;
  }
}

TEST(AllocatedBytes, OfTheProcessHoldThreadsThatRunAndThatEnded) {
  constexpr int kThreads = 8;
  const std::uint64_t before = of_process();
  const AllocationMeter own;
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> done{0};
  std::atomic<bool> may_end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      capture::begin_thread();
      const AllocationMeter meter;
      const std::uint64_t bytes = churn(100 + static_cast<unsigned>(i), 20'000);
      EXPECT_EQ(meter.bytes(), bytes);
      sum += bytes;
      ++done;
      while (i % 2 == 0 && !may_end) std::this_thread::yield();
      capture::end_thread();
    });
  }
  // Meanwhile the total never falls.
  for (std::uint64_t last = before; done < kThreads;) {
    const ProcessBytes now = process_allocated_bytes();
    ASSERT_EQ(now.status, GEIGER_OK);
    ASSERT_GE(now.bytes + now.missing, last);
    last = now.bytes;
  }
  EXPECT_EQ(of_process() - before, sum) << "half of them still run";
  may_end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(of_process() - before, sum) << "all have ended";
  EXPECT_EQ(own.bytes(), 0) << "nothing of the others is this thread's";
}

TEST(AllocatedBytes, OfAThreadAreNotThoseOfAnEarlierOneWithItsPlace) {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      capture::begin_thread();
      allocate(1000);
      EXPECT_EQ(of_thread(), 1000);
      capture::end_thread();
    }).join();
  }
}

TEST(AllocatedBytes, CanBeAskedForInAListener) {
  std::uint64_t inside = 0;
  const Listener listener([&](const geiger_sample&) { inside = of_thread(); });
  const std::uint64_t before = of_thread();
  allocate(2 * kInterval);
  EXPECT_EQ(inside - before, 2 * kInterval);
}

TEST(AllocatedBytes, OfAForksChildBeginAt0) {
  allocate(12345);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_zero = of_thread() == 0 && of_process() == 0;
    allocate(777);
    _exit(is_zero && of_thread() == 777 && of_process() == 777 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(AllocatedBytes, AreMeasuredInTheThreadThatAskedFirst) {
  const AllocationMeter meter;
  allocate(5000);
  std::thread([&] {
    EXPECT_EQ(meter.status(), GEIGER_WRONG_THREAD);
    EXPECT_EQ(meter.bytes(), 0);
  }).join();
  EXPECT_EQ(meter.status(), GEIGER_OK);
  EXPECT_EQ(meter.bytes(), 5000);
}

TEST(AllocatedBytes, NeedAPlaceToGo) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(geiger_get_thread_allocated_bytes(nullptr), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_get_process_allocated_bytes(nullptr, &bytes), GEIGER_BAD_ARGUMENT);
  EXPECT_EQ(geiger_get_process_allocated_bytes(&bytes, nullptr), GEIGER_BAD_ARGUMENT);
}

}  // namespace
}  // namespace geiger::api
