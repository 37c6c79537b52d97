#include "terminal/progress.h"

#include <gtest/gtest.h>

namespace geiger::terminal {
namespace {

TEST(Progress, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_line("simulating", 120, 400, 4),
            "simulating [#########                     ] 120 of 400, 30/s, 10.0 s left");
  EXPECT_EQ(progress_line("x", 400, 400, 4),
            "x [##############################] 400 of 400, 100/s, 0 ns left");
}

TEST(Progress, SaysNoRateBeforeThereIsOne) {
  const std::string nothing = "x [                              ] 0 of 7";
  EXPECT_EQ(progress_line("x", 0, 7, 3), nothing);
  EXPECT_EQ(progress_line("x", 1, 7, 0), "x [####                          ] 1 of 7");
  EXPECT_EQ(progress_line("x", 0, 0, 0), "x [                              ] 0 of 0");
  EXPECT_EQ(progress_line("x", 9, 7, 7).find("7 of 7"), 35U);
}

}  // namespace
}  // namespace geiger::terminal
