#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/environment.h"

namespace geiger::run {
namespace {

using ::testing::ElementsAre;

constexpr const char* kBoth =
    "NODE_OPTIONS=--perf-basic-prof-only-functions --interpreted-frames-native-stack";

TEST(JitNames, NodeKeepsTheOptionsItHas) {
  Environment empty{"A=b"};
  EXPECT_TRUE(ask_node(empty, {"node", "app.js"}));
  EXPECT_THAT(empty, ElementsAre("A=b", kBoth));
  Environment set{"NODE_OPTIONS=--max-old-space-size=64", "A=b"};
  EXPECT_TRUE(ask_node(set, {"node", "app.js"}));
  EXPECT_THAT(set, ElementsAre("NODE_OPTIONS=--max-old-space-size=64 "
                               "--perf-basic-prof-only-functions --interpreted-frames-native-stack",
                               "A=b"));
}

TEST(JitNames, AMapThatNodeWasAskedForIsTheUsers) {
  Environment asked{"NODE_OPTIONS=--perf-basic-prof"};
  EXPECT_FALSE(ask_node(asked, {"node", "app.js"}));
  EXPECT_THAT(asked,
              ElementsAre("NODE_OPTIONS=--perf-basic-prof --interpreted-frames-native-stack"));
  Environment in_words;
  EXPECT_FALSE(ask_node(in_words, {"node", "--perf-basic-prof", "app.js"}));
  EXPECT_THAT(in_words, ElementsAre("NODE_OPTIONS=--interpreted-frames-native-stack"));
  Environment both{kBoth};
  EXPECT_FALSE(ask_node(both, {"node", "app.js"}));
  EXPECT_THAT(both, ElementsAre(kBoth));
}

TEST(JitNames, OptionsOfJavaComeBeforeTheClass) {
  std::vector<std::string> program{"/usr/bin/java", "-cp", ".", "Main"};
  EXPECT_TRUE(ask_java(program).value());
  EXPECT_THAT(program, ElementsAre("/usr/bin/java", "-XX:+IgnoreUnrecognizedVMOptions",
                                   "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
                                   "-XX:+DumpPerfMapAtExit", "-cp", ".", "Main"));
  EXPECT_FALSE(ask_java(program).value());
}

TEST(JitNames, OnlyJavaItselfTakesThem) {
  std::vector<std::string> program{"mvn", "test"};
  const auto asked = ask_java(program);
  ASSERT_FALSE(asked.has_value());
  EXPECT_THAT(asked.reason(), ::testing::HasSubstr("'mvn' is not java"));
  EXPECT_THAT(program, ElementsAre("mvn", "test"));
}

}  // namespace
}  // namespace geiger::run
