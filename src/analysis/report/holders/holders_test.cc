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
  EXPECT_THAT(sentence(report().value()),
              HasSubstr(" of lose is unreachable: nothing points to it."));
  EXPECT_THAT(text(), HasSubstr("held by g_cache through block (64 B) ×9 → Session"));
}

TEST_F(HoldersReported, ElseTheLargestSite) {
  lose(Hold::kMoving);
  const std::string said = sentence(report().value());
  EXPECT_THAT(said, HasSubstr("keep: "));
  EXPECT_THAT(said, HasSubstr("is held by g_cache through block (64 B) ×9 → Session."));
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

TEST_F(HoldersReported, WithoutAScanThereIsAReason) {
  profile::Observations observations;
  observations.holders_fault = "the process has ended";
  made_.recording.observations = {observations};
  EXPECT_THAT(holders_report(made_.recording, {}).reason(), HasSubstr("the process has ended"));
}

}  // namespace
}  // namespace geiger::report
