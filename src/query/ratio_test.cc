#include <gtest/gtest.h>

#include "query/words.h"

namespace geiger::query {
namespace {

TEST(ParseChange, ReadsWhatPeopleType) {
  EXPECT_DOUBLE_EQ(parse_change("10%").value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_change("+10%").value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_change("-5%").value(), -0.05);
  EXPECT_DOUBLE_EQ(parse_change("0.1").value(), 0.1);
  EXPECT_DOUBLE_EQ(parse_change("200%").value(), 2);
  EXPECT_DOUBLE_EQ(parse_change("2x").value(), 1);
  EXPECT_DOUBLE_EQ(parse_change("0.5x").value(), -0.5);
}

TEST(ParseChange, RefusesTheRest) {
  for (const char* bad : {"", "%", "x", "10", "-1", "-100%", "-200%", "0", "0%", "1x", "-2x", "nan",
                          "inf%", "++1%", "10 %x", "1e400%", "ten"}) {
    EXPECT_FALSE(parse_change(bad).has_value()) << bad;
  }
  EXPECT_EQ(parse_change("ten").reason(), "'ten' is not a change (try 10%, -5% or 2x)");
}

TEST(ParseShare, IsPositive) {
  EXPECT_DOUBLE_EQ(parse_share("5%").value(), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("0.05").value(), 0.05);
  for (const char* bad : {"", "5", "-5%", "0", "nan", "inf"}) {
    EXPECT_FALSE(parse_share(bad).has_value()) << bad;
  }
}

TEST(ParseGrowth, IsAPercentage) {
  EXPECT_DOUBLE_EQ(parse_growth("5%").value(), 0.05);
  EXPECT_DOUBLE_EQ(parse_growth("+2.5%").value(), 0.025);
  EXPECT_DOUBLE_EQ(parse_growth("-10 %").value(), -0.1);
  EXPECT_DOUBLE_EQ(parse_growth("0%").value(), 0);
  for (const char* text :
       {"5", "", "%", "five%", "-100%", "nan%", "inf%", "1e300%", "5%%", "5% x", "++5%", "+-5%"}) {
    EXPECT_FALSE(parse_growth(text).has_value()) << text;
  }
  EXPECT_EQ(parse_growth("5").reason(), "'5' is not a growth limit (try 5%)");
}

}  // namespace
}  // namespace geiger::query
