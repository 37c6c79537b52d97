#include "cli/options/sides.h"

#include <gmock/gmock.h>

namespace geiger::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

base::Outcome<Sides> parsed(std::vector<std::string> words, bool needs_before = true) {
  shield_divider(words);
  return sides_of(words, needs_before);
}

TEST(Sides, TwoWordsAreASideEach) {
  EXPECT_THAT(parsed({"a", "b"}).value().before, ElementsAre("a"));
  EXPECT_THAT(parsed({"a", "b"}).value().after, ElementsAre("b"));
  EXPECT_THAT(parsed({"a", "b"}, false).value().before, ElementsAre("a"));
}

TEST(Sides, ADividerTakesAnyNumber) {
  const auto sides = parsed({"a", "b", "c", "--", "d"});
  EXPECT_THAT(sides.value().before, ElementsAre("a", "b", "c"));
  EXPECT_THAT(sides.value().after, ElementsAre("d"));
}

TEST(Sides, WithoutGrowthNothingBeforeIsNeeded) {
  EXPECT_THAT(parsed({"a"}, false).value().before, IsEmpty());
  EXPECT_THAT(parsed({"--", "a", "b"}, false).value().after, ElementsAre("a", "b"));
}

TEST(Sides, RefusalsSayWhatIsMissing) {
  EXPECT_EQ(parsed({}).reason(), "give two runs: one before, one after");
  EXPECT_EQ(parsed({"a"}).reason(), "give two runs: one before, one after");
  EXPECT_EQ(parsed({"a", "b", "c"}).reason(), "more than two runs: put -- between the sides");
  EXPECT_EQ(parsed({"a", "--"}).reason(), "no run after --");
  EXPECT_EQ(parsed({"--", "a"}).reason(), "no run before --");
  EXPECT_EQ(parsed({"a", "--", "b", "--", "c"}).reason(),
            "more than one --: there are only two sides");
}

}  // namespace
}  // namespace geiger::cli
