#include "research/parallel.h"

#include <gtest/gtest.h>

#include <numeric>

namespace geiger::research {
namespace {

TEST(WorkInParallel, DoesEveryItemOnce) {
  for (const std::size_t jobs : {1U, 2U, 9U}) {
    std::vector<int> times(1000, 0);
    std::atomic<int> workers{0};
    work_in_parallel(
        times.size(), jobs,
        [&] {
          ++workers;
          return [&](std::size_t item) { ++times[item]; };
        },
        [](std::size_t done) { EXPECT_LE(done, 1000U); });
    EXPECT_EQ(std::accumulate(times.begin(), times.end(), 0), 1000);
    EXPECT_EQ(times, std::vector<int>(1000, 1));
    EXPECT_EQ(workers, static_cast<int>(jobs));
  }
}

TEST(WorkInParallel, ReturnsAtOnceFromNothing) {
  bool is_called = false;
  work_in_parallel(
      0, 2, [&] { return [&](std::size_t) { is_called = true; }; }, [](std::size_t) {});
  EXPECT_FALSE(is_called);
}

}  // namespace
}  // namespace geiger::research
