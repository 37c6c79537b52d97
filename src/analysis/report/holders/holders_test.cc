#include "analysis/report/holders/holders.h"

#include <gmock/gmock.h>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::report {
namespace {

using profile::Hold;
using ::testing::HasSubstr;
using ::testing::Not;

/// 40 objects of keep() below a map, of which `alone` have no other root; 10 of lose().
class HoldersReported : public testing::Test {
 protected:
  HoldersReported() {
    const std::uint32_t keep = made_.stack({made_.location({"keep"}), made_.location({"main"})});
    const std::uint32_t lose = made_.stack({made_.location({"lose"}), made_.location({"main"})});
    for (int i = 0; i < 40; ++i) made_.sample(keep, 100'000);
    for (int i = 0; i < 10; ++i) made_.sample(lose, 100'000);
    holders_.scans = 3;
    holders_.roots = {"g_cache", "other"};
    holders_.paths = {{{{64, "", 0, false, 9}, {100, "Session", 0, false, 1}}}, {}};
    for (std::uint32_t i = 0; i < 40; ++i) {
      holders_.samples.push_back({i, Hold::kReached, i < 30, i < 38 ? 0U : 1U, i < 38 ? 0U : 1U});
    }
  }
  void lose(Hold hold) {
    for (std::uint32_t i = 40; i < 50; ++i) holders_.samples.push_back({i, hold, false, 0, 0});
  }
  base::Outcome<HoldersReport> report() {
    profile::Observations observations;
    observations.holders = holders_;
    made_.recording.observations = {observations};
    made_.recording.holders.clear();
    profile::name_holders(made_.recording);
    return holders_report(made_.recording, {});
  }
  std::string text() { return to_text(report().value(), made_.recording, {}); }

  profile::TestRecording made_;
  profile::Holders holders_;
};

TEST_F(HoldersReported, WhatIsLostComesFirst) {
  lose(Hold::kUnreferenced);
  EXPECT_THAT(report().value().sentence,
              HasSubstr(" of lose is unreachable: nothing points to it."));
  EXPECT_THAT(text(), HasSubstr("held by g_cache through block (64 B) ×9 → Session"));
}

TEST_F(HoldersReported, ElseTheLargestSite) {
  lose(Hold::kMoving);
  const std::string said = report().value().sentence;
  EXPECT_THAT(said, HasSubstr("keep: "));
  EXPECT_THAT(said, HasSubstr("is held by g_cache through block (64 B) ×9 → Session; "
                              "other roots hold 21.1 % [21.0, 21.2] of it too."));
  EXPECT_THAT(text(),
              HasSubstr("undecided: the last scan did not reach it; it may move (try --snapshot)"));
  EXPECT_THAT(text(), Not(HasSubstr("nothing points to it")));
}

TEST_F(HoldersReported, RootsHaveWhatIsFreedWithoutThem) {
  const HoldersReport found = report().value();
  ASSERT_EQ(found.roots.size(), 2U);
  EXPECT_EQ(found.roots[0].name, "g_cache");
  EXPECT_EQ(found.roots[0].live.samples, 38U);
  EXPECT_EQ(found.roots[0].alone.samples, 30U);
  EXPECT_EQ(found.roots[1].alone.samples, 0U);
  EXPECT_GT(found.roots[1].alone.bytes.interval.hi, 0);
}

TEST_F(HoldersReported, LongPathsAreShortened) {
  auto& steps = holders_.paths[0].steps;
  steps = {{100, "Shop", 0, false, 1}, {64, "", 0, false, 5}, {96, "", 0, false, 2}};
  EXPECT_THAT(text(), HasSubstr("held by g_cache through Shop → 7 blocks;"));
  steps = {{32, "", 0, false, 400, 2}, {48, "", 0, false, 1}};
  EXPECT_THAT(text(), HasSubstr("through (block (32 B) → block (48 B)) ×400;"));
  steps.clear();
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"})
    steps.push_back({8, name, 0, false, 2});
  EXPECT_THAT(text(), HasSubstr("through A ×2 → B ×2 → C ×2 → 4 more → F ×2 → G ×2;"));
}

TEST_F(HoldersReported, OfPathsThatAreCutTheLastBlocksAreNamed) {
  auto& steps = holders_.paths[0].steps;
  steps = {{64, "", 0, false, 4096}};
  EXPECT_THAT(text(), HasSubstr("held by g_cache through block (64 B) ×4,096 or more;"));
  EXPECT_TRUE(report().value().sites[0].parts[0].is_path_cut);
  steps = {{64, "", 0, false, 4095}, {100, "Session", 0, false, 1}};
  EXPECT_THAT(text(), HasSubstr("through more blocks → block (64 B) ×4,095 → Session;"));
  steps = {{32, "", 0, false, 2048, 2}, {48, "", 0, false, 1}};
  EXPECT_THAT(text(), HasSubstr("through (block (32 B) → block (48 B)) ×2,048 or more;"));
  steps = {{64, "", 0, false, 4095}};
  EXPECT_THAT(text(), HasSubstr("through block (64 B) ×4,095;"));
  EXPECT_FALSE(report().value().sites[0].parts[0].is_path_cut);
}

TEST_F(HoldersReported, TooFewSamplesForAShareAreCounted) {
  made_.recording.samples.clear();
  holders_.samples.clear();
  for (std::uint32_t i = 0; i < 3; ++i) {
    made_.sample(0, 10);
    holders_.samples.push_back({i, Hold::kReached, i == 0, 0, 1});
  }
  EXPECT_THAT(text(), HasSubstr("\n   all 3 samples, held by g_cache; other roots hold 2 of its 3 "
                                "samples too\n"));
  EXPECT_EQ(report().value().sentence,
            "3 samples of live memory: too few to say what holds most of any site; a smaller "
            "--interval takes more samples.");
  holders_.samples[2] = {2, Hold::kReached, true, 1, 1};
  EXPECT_THAT(text(), HasSubstr("\n   2 of 3 samples, held by g_cache; other roots hold 1 of its 2 "
                                "samples too\n   1 of 3 samples, held by other\n"));
  EXPECT_THAT(to_json(report().value(), made_.recording),
              HasSubstr("\"in_samples\":\"2 of 3 samples\""));
  // A large site is settled.
  for (std::uint32_t i = 3; i < 43; ++i) {
    made_.sample(1, 10'000);
    holders_.samples.push_back({i, Hold::kReached, true, 1, 1});
  }
  EXPECT_THAT(report().value().sentence, HasSubstr("lose: 100.0 % [99.0, 100.0] of"));
}

TEST_F(HoldersReported, ThePoolOfExceptionsHasAName) {
  made_.recording.modules.push_back({"/usr/lib/libstdc++.so.6.0.30", "", 0x10000, 0x20000, 0});
  made_.recording.modules.push_back({"/lib64/ld-linux-x86-64.so.2", "", 0x30000, 0x40000, 0});
  const std::uint32_t library = made_.location({}, 1), loader = made_.location({"call_init"}, 2);
  const std::uint32_t pool = made_.stack({library, loader});
  const std::uint32_t later = made_.stack({library, made_.location({"main"})});
  holders_.roots[1] = "libstdc++.so.6.0.30+0x2162e8";
  for (const std::uint32_t stack : {pool, later}) {
    holders_.samples.push_back(
        {static_cast<std::uint32_t>(made_.recording.samples.size()), Hold::kReached, true, 1, 1});
    made_.sample(stack, 72'704);
  }
  std::vector<std::string> names;
  const HoldersReport found = report().value();
  for (const HolderRoot& root : found.roots) names.push_back(root.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("g_cache", "libstdc++.so.6.0.30+0x2162e8",
                                                   "libstdc++'s emergency pool for exceptions"));
}

TEST_F(HoldersReported, TheTableFitsTheTerminal) {
  holders_.roots[1] = "application::sessions::SessionStore::by_address_of_the_client.table[*]";
  for (const std::size_t width : {60U, 80U}) {
    const std::string all = to_text(report().value(), made_.recording, {.width = width});
    const std::string said = all.substr(0, all.find("live memory by function"));
    EXPECT_THAT(said, HasSubstr("…"));
    for (std::size_t at = 0, end = 0; (end = said.find('\n', at)) != std::string::npos;
         at = end + 1) {
      EXPECT_LE(present::columns_of(said.substr(at, end - at)), width) << said.substr(at, end - at);
    }
  }
}

TEST_F(HoldersReported, WithoutAScanThereIsAReason) {
  profile::Observations observations;
  observations.holders_fault = "the process has ended";
  made_.recording.observations = {observations};
  EXPECT_THAT(holders_report(made_.recording, {}).reason(), HasSubstr("the process has ended"));
}

}  // namespace
}  // namespace geiger::report
