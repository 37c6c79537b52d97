#include "cli/help/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/words.h"

namespace geiger::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<bool> takes_value(std::string_view name) {
  if (name == "-o" || name == "--interval") return true;
  if (name == "-f" || name == "-q" || name == "--pure") return false;
  return std::nullopt;
}

base::Outcome<CommandLine> divided(const std::vector<std::string>& words) {
  return divide(words, takes_value);
}

TEST(Divide, StopsAtTheFirstWordThatIsNoOption) {
  const auto line = divided({"-f", "--interval", "1KiB", "ls", "-o", "--pure", "--", "x"});
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line.value().options, ElementsAre("-f", "--interval", "1KiB"));
  EXPECT_THAT(line.value().program, ElementsAre("ls", "-o", "--pure", "--", "x"));
}

TEST(Divide, DropsOnlyTheFirstDoubleDash) {
  const auto line = divided({"-o", "x", "--", "--", "-f"});
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line.value().options, ElementsAre("-o", "x"));
  EXPECT_THAT(line.value().program, ElementsAre("--", "-f"));
}

TEST(Divide, KnowsAttachedValuesAndClusters) {
  EXPECT_THAT(divided({"-ofile", "prog"}).value().program, ElementsAre("prog"));
  EXPECT_THAT(divided({"-fqo", "file", "prog"}).value().program, ElementsAre("prog"));
  EXPECT_THAT(divided({"--interval=4", "prog"}).value().program, ElementsAre("prog"));
  EXPECT_THAT(divided({"-o", "--", "prog"}).value().options, ElementsAre("-o", "--"));
}

TEST(Divide, TakesEmptyAndSingleDashWordsForTheProgram) {
  EXPECT_THAT(divided({"-f", "-"}).value().program, ElementsAre("-"));
  EXPECT_THAT(divided({"", "-f"}).value().program, ElementsAre("", "-f"));
  EXPECT_THAT(divided({}).value().program, IsEmpty());
  EXPECT_THAT(divided({"-o"}).value().program, IsEmpty());
}

TEST(Divide, RefusesUnknownOptionsByName) {
  EXPECT_THAT(divided({"--purr", "prog"}).reason(), HasSubstr("'--purr'"));
  EXPECT_THAT(divided({"-fx", "prog"}).reason(), HasSubstr("'-fx'"));
}

TEST(Closest, FindsSlipsAndNothingElse) {
  const std::vector<std::string> verbs{"run", "summary", "table", "tree", "stats"};
  EXPECT_EQ(query::closest("rnu", verbs), "run");
  EXPECT_EQ(query::closest("sumary", verbs), "summary");
  EXPECT_EQ(query::closest("tabel", verbs), "table");
  EXPECT_EQ(query::closest("frobnicate", verbs), std::nullopt);
  EXPECT_EQ(query::closest("", verbs), std::nullopt);
}

}  // namespace
}  // namespace geiger::cli
