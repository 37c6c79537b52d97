#include "analysis/profile/groups/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/totals.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::profile::view_test {
namespace {

using ::testing::ElementsAre;

/// At T = 1 sums are exact, so views can be checked to the byte.
struct Fixture : ::testing::Test {
  TestRecording test{1};
  std::uint32_t main_ = test.location({"main"});
  std::uint32_t work_ = test.location({"inlined", "work"});
  std::uint32_t leaf_ = test.location({"leaf"});
  std::uint32_t bare_ = test.location({});

  [[nodiscard]] Profile allocated() const { return select(test.recording, Kind::kAllocated); }
};
using Table = Fixture;
using CallTree = Fixture;
using Trim = Fixture;

std::vector<std::string> names(const std::vector<Row>& rows) {
  std::vector<std::string> all;
  all.reserve(rows.size());
  for (const Row& row : rows) all.push_back(row.name);
  return all;
}

std::string outline(const Tree& tree, std::uint32_t node = 0) {
  std::string text = tree.nodes[node].name + ":" +
                     std::to_string(static_cast<int>(tree.nodes[node].total.all_bytes()));
  if (tree.nodes[node].children.empty()) return text;
  text += "(";
  for (const std::uint32_t child : tree.nodes[node].children) text += outline(tree, child) + " ";
  text.back() = ')';
  return text;
}

TEST_F(Table, CountsAFunctionOncePerStack) {
  test.sample(test.stack({leaf_, work_, leaf_, main_}), 100);
  test.sample(test.stack({main_}), 10);
  const auto rows = table(test.recording, allocated(), GroupBy::kFunction);
  EXPECT_THAT(names(rows), ElementsAre("main", "inlined", "leaf", "work"));
  EXPECT_EQ(rows[0].total.all_bytes(), 110);
  EXPECT_EQ(rows[0].self.all_bytes(), 10);
  EXPECT_EQ(rows[2].total.all_bytes(), 100);
  EXPECT_EQ(rows[2].self.all_bytes(), 100);
  EXPECT_EQ(rows[3].self.all_bytes(), 0);
  EXPECT_EQ(rows[0].detail, "target");
}

TEST_F(Table, StacksThatWereCutAreOpenInTotals) {
  test.sample(test.stack({leaf_, work_, main_}), 100);
  test.sample(test.stack({leaf_}, true), 10);
  const auto rows = table(test.recording, allocated(), GroupBy::kFunction);
  ASSERT_THAT(names(rows), ElementsAre("leaf", "inlined", "main", "work"));
  EXPECT_EQ(rows[0].total.all_bytes(), 110);
  EXPECT_FALSE(rows[0].total.has_open()) << "it is seen in the stack that was cut";
  for (const std::size_t caller : {1U, 2U, 3U}) {
    EXPECT_EQ(rows[caller].total.all_bytes(), 100);
    const estimation::Estimate total = estimation::estimate_bytes(rows[caller].total, 0.95);
    EXPECT_EQ(total.interval.lo, 100);
    EXPECT_EQ(total.interval.hi, 110);
    EXPECT_FALSE(rows[caller].self.has_open()) << "the leaf is never cut";
  }
  const auto modules = table(test.recording, allocated(), GroupBy::kModule);
  EXPECT_FALSE(modules[0].total.has_open()) << "the only module is in both";
}

TEST_F(Table, NamesWhatHasNoSymbol) {
  const auto anonymous = test.location({}, kNone);
  test.sample(test.stack({bare_, anonymous}), 100);
  test.sample(kNone, 10);
  // What no module holds was made at run time, and says nothing about whose it is.
  EXPECT_THAT(names(table(test.recording, allocated(), GroupBy::kFunction)),
              ElementsAre("target+0x1030", "[no stack]"));
  auto everything = std::make_shared<FrameRules>();
  everything->shows_plumbing = true;
  test.recording.frame_rules = everything;
  const auto rows = table(test.recording, allocated(), GroupBy::kFunction);
  EXPECT_THAT(names(rows), ElementsAre("0x1040", "target+0x1030", "[no stack]"));
  EXPECT_EQ(rows[0].detail, "[no module]");
}

TEST_F(Table, OfStacksShowsTheNearestCallers) {
  test.sample(test.stack({leaf_, work_, main_}), 100);
  const auto rows = table(test.recording, allocated(), GroupBy::kStack);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "leaf");
  EXPECT_EQ(rows[0].detail, "inlined < work < main");
  EXPECT_EQ(rows[0].stack, 0U);
}

TEST_F(Table, OfModules) {
  test.recording.modules.push_back({"/lib/libx.so", "", 0, 0, 0});
  const auto other = test.location({"f"}, 1);
  test.sample(test.stack({other, main_}), 100);
  test.sample(test.stack({main_}), 10);
  const auto rows = table(test.recording, allocated(), GroupBy::kModule);
  EXPECT_THAT(names(rows), ElementsAre("target", "libx.so"));
  EXPECT_EQ(rows[0].total.all_bytes(), 110);
  EXPECT_EQ(rows[0].self.all_bytes(), 10);
  EXPECT_EQ(rows[1].detail, "/lib/libx.so");
}

TEST_F(Table, BuildsOfAFileShareRows) {
  test.recording.modules.push_back({test.recording.modules[0].path, "another", 0, 0, 0});
  const auto rebuilt = test.location({"main"}, 1);
  test.recording.locations[rebuilt].process = test.add_process();
  test.sample(test.stack({rebuilt}), 100);
  test.sample(test.stack({main_}), 10);
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kModule}) {
    const auto rows = table(test.recording, allocated(), by);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].total.all_bytes(), 110);
  }
}

TEST_F(Table, IsEmptyWithoutSamples) {
  for (const auto group : {GroupBy::kFunction, GroupBy::kStack, GroupBy::kModule}) {
    EXPECT_TRUE(table(test.recording, allocated(), group).empty());
  }
}

TEST_F(CallTree, TopDown) {
  test.sample(test.stack({leaf_, work_, main_}), 100);
  test.sample(test.stack({leaf_, main_}), 30);
  test.sample(test.stack({main_}), 5);
  test.sample(test.stack({leaf_}, true), 1);
  EXPECT_EQ(outline(tree(test.recording, allocated(), false)),
            ":136(main:135(work:100(inlined:100(leaf:100)) leaf:30) [truncated]:1(leaf:1))");
}

TEST_F(CallTree, Inverted) {
  test.sample(test.stack({leaf_, work_, main_}), 100);
  test.sample(test.stack({leaf_, main_}), 30);
  test.sample(test.stack({main_}), 5);
  EXPECT_EQ(outline(tree(test.recording, allocated(), true)),
            ":135(leaf:130(inlined:100(work:100(main:100)) main:30) main:5)");
}

TEST_F(CallTree, NodesHaveTheLineWithMost) {
  const auto called_at = [this](std::uint32_t line) {
    const std::uint32_t caller = test.location({"caller"});
    Frame& frame = test.recording.frames[test.recording.locations[caller].frames[0]];
    frame.file = "a.cc";
    frame.line = line;
    return test.stack({leaf_, caller});
  };
  test.sample(called_at(7), 60);
  test.sample(called_at(8), 50);
  test.sample(called_at(7), 1);
  test.sample(called_at(9), 70);
  const Tree built = tree(test.recording, allocated(), false);
  EXPECT_EQ(text_of(built.nodes[1].where), "a.cc:7-9");
  EXPECT_EQ(text_of(built.nodes[2].where), "");
}

TEST_F(CallTree, ChildrenFollowTheirParents) {
  test.sample(test.stack(std::vector<std::uint32_t>(255, leaf_)), 100);
  const Tree deep = tree(test.recording, allocated(), false);
  ASSERT_EQ(deep.nodes.size(), 256U);
  for (std::uint32_t i = 0; i + 1 < deep.nodes.size(); ++i) {
    EXPECT_THAT(deep.nodes[i].children, ElementsAre(i + 1));
  }
  EXPECT_EQ(deep.nodes[1].frame_or_location, 3U);
  EXPECT_FALSE(deep.nodes[1].is_location);
}

/// Keys that differ in few bits only: a table hashed by them as they are explodes.
TEST_F(CallTree, TakesManyAlikePaths) {
  std::vector<std::uint32_t> locations;
  locations.reserve(64);
  for (int i = 0; i < 64; ++i) locations.push_back(test.location({}));
  for (std::uint32_t i = 0; i < 5000; ++i) {
    std::vector<std::uint32_t> path(20, main_);
    for (std::uint32_t bits = i; bits != 0; bits /= 8) path.push_back(locations[bits % 8 * 8]);
    test.sample(test.stack(path), 1);
  }
  EXPECT_EQ(tree(test.recording, allocated(), false).nodes[0].total.all_bytes(), 5000);
  EXPECT_EQ(tree(test.recording, allocated(), true).nodes[0].total.all_bytes(), 5000);
}

TEST(Views, EveryRowKnowsTheLargestInterval) {
  TestRecording test(1024);
  test.sample(test.stack({test.location({"leaf"}), test.location({"main"})}), 100);
  const Profile profile = select(test.recording, Kind::kAllocated);
  for (const Row& row : table(test.recording, profile, GroupBy::kFunction)) {
    EXPECT_EQ(row.self.largest_interval, profile.largest_interval) << row.name;
    EXPECT_EQ(row.total.largest_interval, profile.largest_interval) << row.name;
  }
}

TEST_F(Trim, CutsLocationsAndInlinedFramesAndUnifiesStacks) {
  const auto inner = test.location({"malloc"});
  test.sample(test.stack({inner, leaf_, main_}), 1);
  test.sample(test.stack({leaf_, main_}), 2);
  test.sample(test.stack({inner}), 3);
  test.sample(test.stack({work_, main_}), 4);
  test.sample(test.stack({work_, leaf_, main_}), 5);
  const std::size_t locations = test.recording.locations.size();
  // Cuts "malloc", and one of the two frames of work_.
  const auto leading = [&](const Recording& recording, const Stack& stack) -> std::size_t {
    const std::uint32_t first = stack.locations.front();
    const auto& frames = recording.locations[first].frames;
    const std::string& name = recording.frames[frames.front()].function;
    return name == "malloc" || name == "inlined" ? 1 : 0;
  };
  EXPECT_EQ(trim(test.recording, leading), 3U);
  EXPECT_EQ(test.recording.stacks.size(), 4U);
  EXPECT_EQ(test.recording.samples[0].stack, test.recording.samples[1].stack);
  EXPECT_EQ(test.recording.stacks[test.recording.samples[2].stack].locations.size(), 1U);
  const Stack& inlined = test.recording.stacks[test.recording.samples[3].stack];
  EXPECT_EQ(inlined.locations.size(), 2U);
  // One new location for both stacks that begin with work_, which itself is as it was.
  EXPECT_EQ(test.recording.locations.size(), locations + 1);
  EXPECT_EQ(inlined.locations[0],
            test.recording.stacks[test.recording.samples[4].stack].locations[0]);
  const auto& all = test.recording.locations[work_].frames;
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(test.recording.locations[inlined.locations[0]].frames,
            std::vector<std::uint32_t>(all.begin() + 1, all.end()));
  EXPECT_EQ(trim(test.recording, leading), 0U);
}

TEST(Totals, AddThreadsAndCombineZ) {
  TestRecording test(1024);
  const auto second = test.add_process(1024);
  Thread thread;
  thread.bytes = 1000000;
  thread.trials = 900000;
  thread.hits = 900;
  thread.certain_bytes = 5000;
  test.recording.threads.push_back(thread);
  test.recording.threads.push_back(thread);
  thread.process = second;
  thread.hits = 850;
  test.recording.threads.push_back(thread);
  test.sample(kNone, 64);
  const ProcessTotals first = process_totals(test.recording, 0);
  EXPECT_EQ(first.exact_bytes, 2000000U);
  EXPECT_EQ(first.hits, 1800U);
  EXPECT_EQ(first.threads, 2U);
  EXPECT_EQ(first.z, estimation::sampler_z(1800, 1800000, 1024));
  EXPECT_NEAR(first.estimated_bytes, 1024 + 32, 1);
  const ProcessTotals all = all_totals(test.recording);
  EXPECT_EQ(all.exact_bytes, 3000000U);
  const double variance_a = 1800000 / 1024.0 * (1 - 1 / 1024.0);
  const double variance_b = 900000 / 1024.0 * (1 - 1 / 1024.0);
  const double z_b = estimation::sampler_z(850, 900000, 1024);
  EXPECT_NEAR(all.z,
              (first.z * std::sqrt(variance_a) + z_b * std::sqrt(variance_b)) /
                  std::sqrt(variance_a + variance_b),
              1e-12);
}

// An image that ends by exec lacks its last trials, but not its hits.
TEST(Totals, ZLeavesOutThreadsThatWereCutOff) {
  TestRecording test;
  Thread thread;
  thread.armed = 500;
  thread.hits = 5;
  thread.trials = 1024;
  test.recording.threads.push_back(thread);
  EXPECT_EQ(process_totals(test.recording, 0).z, 0.0);
  thread.armed = 0;
  test.recording.threads.push_back(thread);
  EXPECT_NEAR(process_totals(test.recording, 0).z, estimation::sampler_z(5, 1024, 1024), 1e-12);
  thread.armed = 500;
  thread.hits = 400;
  thread.trials = 400 * 1024;
  test.recording.threads.push_back(thread);
  EXPECT_NEAR(process_totals(test.recording, 0).z, estimation::sampler_z(405, 401 * 1024, 1024),
              1e-12);
}

TEST(Totals, AnArmedThreadIsUnsettled) {
  TestRecording test;
  Thread thread;
  thread.armed = 500;
  test.recording.threads.push_back(thread);
  EXPECT_EQ(process_totals(test.recording, 0).unsettled_bound, 500U);
  EXPECT_EQ(process_totals(test.recording, 0).unsettled_threads, 1U);
}

TEST(Totals, AtIntervalOneEverythingIsExact) {
  TestRecording test(1);
  test.sample(kNone, 77);
  const ProcessTotals totals = process_totals(test.recording, 0);
  EXPECT_EQ(totals.estimated_bytes, 77.0);
  EXPECT_EQ(totals.estimated_variance, 0.0);
  EXPECT_EQ(totals.z, 0.0);
  EXPECT_EQ(all_totals(test.recording).z, 0.0);
}

}  // namespace
}  // namespace geiger::profile::view_test
