// Confidence levels as people write them.
#include <gtest/gtest.h>

#include "cli/options/input.h"

namespace geiger::cli {
namespace {

TEST(Level, IsReadInThreeSpellings) {
  EXPECT_DOUBLE_EQ(parse_level("0.95").value(), 0.95);
  EXPECT_DOUBLE_EQ(parse_level("95").value(), 0.95);
  EXPECT_DOUBLE_EQ(parse_level("99.9%").value(), 0.999);
  EXPECT_DOUBLE_EQ(parse_level("1.5%").value(), 0.015);
  for (const char* wrong :
       {"", "%", "0", "100", "1e2", "nan", "-5", "1", "1.5", "49", "95 %", "0x5", "95%%"}) {
    EXPECT_FALSE(parse_level(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace geiger::cli
