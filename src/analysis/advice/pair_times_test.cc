#include "analysis/advice/pair_times.h"

#include <gtest/gtest.h>

namespace geiger::advice {
namespace {

TEST(PairTimes, AreThoseOfTheSizesOfTheCalls) {
  PairTimes times;
  EXPECT_FALSE(times.is_known());
  times.times = {{16, 10e-9, {8e-9, 20e-9}}, {1024, 30e-9, {25e-9, 40e-9}}};
  estimation::Estimate calls;
  calls.value = 1000;
  calls.interval = {900, 1200};
  // Half of the calls are of each size; what is larger than all that was timed counts as the
  // largest.
  const estimation::Estimate seconds = times.seconds(calls, {{8, 5}, {5000, 5}});
  EXPECT_DOUBLE_EQ(seconds.value, 1000 * 20e-9);
  EXPECT_DOUBLE_EQ(seconds.interval.lo, 900 * 16.5e-9);
  EXPECT_DOUBLE_EQ(seconds.interval.hi, 1200 * 30e-9);
  EXPECT_DOUBLE_EQ(times.seconds(calls, {{17, 1}}).value, 1000 * 30e-9);
}

}  // namespace
}  // namespace geiger::advice
