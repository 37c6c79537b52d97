#include "terminal/progress.h"

#include <gtest/gtest.h>

namespace geiger::terminal {
namespace {

std::string line(std::size_t done, std::size_t total, double seconds, std::size_t columns = 79) {
  return progress_line({"x", "", columns}, done, total, seconds);
}

TEST(Progress, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_line({"simulating", "", 79}, 120, 400, 4),
            "simulating [#########                     ] 120 of 400, 30/s, 10 s left");
  EXPECT_EQ(progress_line({"reading", " MiB", 79}, 30, 60, 20),
            "reading [###############               ] 30 of 60 MiB, 1.5 MiB/s, 20 s left");
  EXPECT_EQ(line(400, 400, 4), "x [##############################] 400 of 400, 100/s, 0 s left");
  EXPECT_EQ(line(1, 101, 1), "x [                              ] 1 of 101, 1.0/s, 1 min 40 s left");
}

TEST(Progress, SaysNoRateBeforeThereIsOne) {
  const std::string nothing = "x [                              ] 0 of 7";
  EXPECT_EQ(line(0, 7, 3), nothing);
  EXPECT_EQ(line(1, 7, 0), "x [####                          ] 1 of 7");
  EXPECT_EQ(line(0, 0, 0), "x [                              ] 0 of 0");
  EXPECT_EQ(line(9, 7, 7).find("7 of 7"), 35U);
}

TEST(Progress, FitsTheTerminal) {
  const ProgressStyle style{"looking up names", "", 79};
  const std::string full = progress_line(style, 123456, 234567, 10);
  EXPECT_EQ(full,
            "looking up names [############           ] 123456 of 234567, 12346/s, 10 s left");
  EXPECT_EQ(full.size(), style.columns);
  EXPECT_EQ(line(1, 2, 1, 40), "x [######      ] 1 of 2, 1.0/s, 1 s left");
  EXPECT_EQ(line(1, 2, 1, 20), "x 1 of 2, 1.0/s, 1 s left");
}

}  // namespace
}  // namespace geiger::terminal
