#include "query/samples.h"

#include <gtest/gtest.h>

#include <string>

namespace geiger::query {
namespace {

constexpr Bytes kInterval = 4096;

SampleGroup only(std::string_view text) {
  const auto groups = parse_samples(text, kInterval);
  EXPECT_EQ(groups.value().size(), 1U) << text;
  return groups.value().front();
}

TEST(Samples, AreSizesWithOffsetIntervalAndCount) {
  const SampleGroup all = only("24+7@100KiB:2");
  EXPECT_EQ(all.size, 24U);
  EXPECT_EQ(all.offset, 7U);
  EXPECT_EQ(all.interval, 100 * kKiB);
  EXPECT_EQ(all.count, 2U);
  const SampleGroup least = only("64KiB");
  EXPECT_EQ(least.size, 64 * kKiB);
  EXPECT_FALSE(least.offset.has_value());
  EXPECT_EQ(least.interval, kInterval);
  EXPECT_EQ(least.count, 1U);
  EXPECT_EQ(only("24+0").offset, 0U);
  EXPECT_EQ(only("1@512KiB:0").count, 0U);
}

TEST(Samples, AreSeparatedByWhiteSpaceAndExplained) {
  const auto groups = parse_samples(" 16:3 # three\r\n# 5\n\t24+7\n", kInterval);
  ASSERT_EQ(groups.value().size(), 2U);
  EXPECT_EQ(groups.value()[0].count, 3U);
  EXPECT_EQ(groups.value()[1].offset, 7U);
  EXPECT_TRUE(parse_samples(" \n", kInterval).value().empty());
}

TEST(Samples, RefuseWhatIsNone) {
  for (const char* text : {"16@",
                           "@16",
                           "0",
                           "-1",
                           "nan",
                           "16@0",
                           "16@-5",
                           "16@nan",
                           "16:",
                           "16:-1",
                           "16:1.5",
                           "16:9007199254740993",
                           "16:1:2",
                           "9223372036854775808",
                           "16@4096@4096",
                           "24+24",
                           "24+",
                           "24+-1",
                           "24+x",
                           "+7",
                           "24+7+7",
                           "16 x"}) {
    const auto groups = parse_samples(text, kInterval);
    ASSERT_FALSE(groups.has_value()) << text;
    EXPECT_TRUE(groups.reason().starts_with("invalid sample '")) << groups.reason();
    EXPECT_EQ(groups.reason().find('\n'), std::string::npos);
  }
  EXPECT_NE(parse_samples("24+24", 1).reason().find("from 0 to 23"), std::string::npos);
}

}  // namespace
}  // namespace geiger::query
