#include <gtest/gtest.h>

#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::suppressions_test {
namespace {

TEST(Suppressions, MatchPartsOfNames) {
  EXPECT_TRUE(matches_suppression("font", "libfontconfig.so"));
  EXPECT_FALSE(matches_suppression("font", "libFont.so"));
  EXPECT_TRUE(matches_suppression("^main$", "main"));
  EXPECT_FALSE(matches_suppression("^main$", "main2"));
  EXPECT_FALSE(matches_suppression("^main", "domain"));
  EXPECT_TRUE(matches_suppression("main$", "domain"));
  EXPECT_TRUE(matches_suppression("g_*_register", "xg_type_registered"));
  EXPECT_FALSE(matches_suppression("g_*_register$", "g_type_registered"));
  EXPECT_TRUE(matches_suppression("^a*b*c$", "abbbc"));
  EXPECT_TRUE(matches_suppression("^a*c$", "acbc"));
  EXPECT_FALSE(matches_suppression("^ab*bc$", "abc")) << "no letter twice";
  EXPECT_TRUE(matches_suppression("*x*", "axb"));
  EXPECT_TRUE(matches_suppression("^*x", "ax"));
  EXPECT_TRUE(matches_suppression("a^b", "a^b")) << "^ is special in front only";
}

TEST(Suppressions, ReadFiles) {
  const auto parsed = Suppressions::parse("# known\n\n leak:libfoo \r\nleak:^bar$\n");
  ASSERT_TRUE(parsed.has_value());
  ASSERT_EQ(parsed.value().size(), 2U);
  EXPECT_EQ(parsed.value().pattern(0), "libfoo");
  EXPECT_EQ(parsed.value().pattern(1), "^bar$");
}

TEST(Suppressions, NameTheLineThatIsWrong) {
  const auto reason_of = [](std::string_view text) { return Suppressions::parse(text).reason(); };
  EXPECT_EQ(reason_of("leak:a\nrace:b\n"), "2: 'race:b' does not begin with leak:");
  EXPECT_EQ(reason_of("leak:"), "1: leak: must be followed by part of a name");
  EXPECT_EQ(reason_of("leak:^*$"), "1: leak: must be followed by part of a name");
  EXPECT_EQ(reason_of("\n\nleak:a$b"), "3: $ is allowed only at the end of a pattern");
}

TEST(Suppressions, LookAtFunctionsModulesAndFiles) {
  TestRecording test;
  const auto leaf = test.location({"inlined", "make"});
  const auto bare = test.location({});
  test.recording.frames[0].file = "src/pool.cc";
  const auto stack = test.stack({leaf, bare});
  const auto find = [&](std::string_view text) {
    const auto parsed = Suppressions::parse(text);
    return parsed.value().match(test.recording, stack);
  };
  EXPECT_EQ(find("leak:nothing\nleak:^make$"), 1U);
  EXPECT_EQ(find("leak:pool.cc"), 0U);
  EXPECT_EQ(find("leak:/usr/bin/target"), 0U);
  EXPECT_EQ(find("leak:absent"), kNone);
  const auto parsed = Suppressions::parse("leak:target");
  EXPECT_EQ(parsed.value().match(test.recording, kNone), kNone);
}

}  // namespace
}  // namespace geiger::profile::suppressions_test
