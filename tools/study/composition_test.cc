#include "study/composition.h"

#include <gtest/gtest.h>

#include <string>

#include "base/units.h"

namespace geiger::study {
namespace {

void expect_group(const SampleGroup& group, Bytes size, Bytes interval, std::uint64_t count,
                  bool is_certain) {
  EXPECT_EQ(group.size, size);
  EXPECT_EQ(group.interval, interval);
  EXPECT_EQ(group.count, count);
  EXPECT_EQ(group.is_certain, is_certain);
}

TEST(Composition, ReadsGroups) {
  expect_group(parse_sample_group("16@512KiB:3").value(), 16, 512 * kKiB, 3, false);
  expect_group(parse_sample_group("64KiB@512kB").value(), 64 * kKiB, 512000, 1, false);
  expect_group(parse_certain_group("8MiB:2").value(), 8 * kMiB, 0, 2, true);
  expect_group(parse_certain_group("1").value(), 1, 0, 1, true);
}

TEST(Composition, ReadsOffsets) {
  const auto group = parse_sample_group("24+7@102400:2");
  ASSERT_TRUE(group.has_value()) << group.reason();
  expect_group(group.value(), 24, 102400, 2, false);
  EXPECT_EQ(group.value().offset, 7U);
  EXPECT_EQ(parse_sample_group("64KiB+1KiB@512KiB").value().offset, kKiB);
  EXPECT_EQ(parse_sample_group("24+0@4096").value().offset, 0U);
  EXPECT_FALSE(parse_sample_group("24@4096").value().offset.has_value());
  const auto lines =
      parse_sample_lines("24,4096,1,0,7\n{\"size\": 24, \"interval\": 4096, \"offset\": 23}");
  ASSERT_TRUE(lines.has_value()) << lines.reason();
  EXPECT_EQ(lines.value()[0].offset, 7U);
  EXPECT_EQ(lines.value()[1].offset, 23U);
  for (const char* text :
       {"24+24@4096", "24+@4096", "24+-1@4096", "24+x@4096", "+7@4096", "24+7+7@4096"}) {
    EXPECT_FALSE(parse_sample_group(text).has_value()) << text;
  }
  EXPECT_NE(parse_sample_group("24+24@4096").reason().find("0 to 23"), std::string::npos);
  EXPECT_FALSE(parse_sample_lines("24,4096,1,1,7").has_value());
}

TEST(Composition, RefusesWhatIsNoGroup) {
  for (const char* text :
       {"", "16", "16@", "@16", "0@4096", "-1@4096", "nan@4096", "16@0", "16@-5", "16@nan",
        "16@4096:", "16@4096:0", "16@4096:-1", "16@4096:1.5", "16@4096:9007199254740993",
        "16@4096:1:2", "9223372036854775808@4096", "16@4096@4096"}) {
    const auto group = parse_sample_group(text);
    EXPECT_FALSE(group.has_value()) << text;
    EXPECT_EQ(group.reason().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(parse_certain_group("0").has_value());
  EXPECT_FALSE(parse_certain_group("8MiB:x").has_value());
}

TEST(Composition, ReadsLinesOfBothKinds) {
  const auto groups = parse_sample_lines(
      "size,interval,count,certain\n"
      "16,524288,3\r\n"
      "\n"
      "# a comment\n"
      " 64KiB , 512KiB , 2 , 0\n"
      "8388608,,2,1\n"
      "{\"size\": 100, \"interval\": \"4KiB\", \"count\": 7}\n"
      "{\"size\": 9, \"certain\": true}");
  ASSERT_TRUE(groups.has_value()) << groups.reason();
  ASSERT_EQ(groups.value().size(), 5U);
  expect_group(groups.value()[0], 16, 524288, 3, false);
  expect_group(groups.value()[1], 64 * kKiB, 512 * kKiB, 2, false);
  expect_group(groups.value()[2], 8388608, 0, 2, true);
  expect_group(groups.value()[3], 100, 4096, 7, false);
  expect_group(groups.value()[4], 9, 0, 1, true);
}

TEST(Composition, NamesTheBadLine) {
  for (const char* text :
       {"16,4096,1\n16,4096,x", "16,4096,1\n16,4096,1,2", "16,4096,1\n16,4096,1,0,0,0",
        "16,4096,1\n16,4096,1,0,16", "16,4096,1\n{\"size\": 16",
        "16,4096,1\n{\"size\": 16, \"interval\": -4}", "16,4096,1\n{\"size\": 16, \"weight\": 4}",
        "16,4096,1\n{\"interval\": 16}", "16,4096,1\n{\"size\": NaN, \"interval\": 16}",
        "16,4096,1\n[16, 4096]"}) {
    const auto groups = parse_sample_lines(text);
    ASSERT_FALSE(groups.has_value()) << text;
    EXPECT_TRUE(groups.reason().starts_with("line 2: ")) << groups.reason();
  }
}

}  // namespace
}  // namespace geiger::study
