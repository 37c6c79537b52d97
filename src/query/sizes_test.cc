#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/words.h"

namespace geiger::query {
namespace {

using testing::HasSubstr;

struct Case {
  const char* text;
  std::uint64_t expected;
};

TEST(ParseSize, TakesBinaryDecimalAndPlain) {
  for (const auto& [text, expected] : {
           Case{"1", 1},
           Case{"4096", 4096},
           Case{"512KiB", 512 * kKiB},
           Case{"512kB", 512'000},
           Case{"512K", 512 * kKiB},
           Case{"4 GiB", 4 * kGiB},
           Case{"1.5MiB", 3 * kMiB / 2},
           Case{" 7b ", 7},
           Case{"2tib", 2 * kKiB * kGiB},
           Case{"18446744073709551615", 0xffff'ffff'ffff'ffff},
           Case{"0", 0},
       }) {
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.value(), expected) << text;
  }
}

TEST(ParseSize, NamesWhatItRefuses) {
  for (const char* text : {"", "KiB", "-1", "12 parsecs", "1.2.3", ".", "0x10", "1e6", "inf", "2.5",
                           "0.5b", "18446744073709551616", "17179869184GiB", "99999999999.9TiB"}) {
    const auto parsed = parse_size(text);
    EXPECT_FALSE(parsed.has_value()) << text;
    EXPECT_THAT(parsed.reason(), HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(ParseDuration, DefaultsToSeconds) {
  for (const auto& [text, expected] : {
           Case{"10", 10'000'000'000},
           Case{"10s", 10'000'000'000},
           Case{"500ms", 500'000'000},
           Case{"2m", 120'000'000'000},
           Case{"0.25s", 250'000'000},
           Case{"1h", 3'600'000'000'000},
       }) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.value(), expected) << text;
  }
  EXPECT_FALSE(parse_duration("soon").has_value());
  EXPECT_FALSE(parse_duration("5KiB").has_value());
}

}  // namespace
}  // namespace geiger::query
