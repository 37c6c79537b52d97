// The parts of a page one by one: trees, buckets, names, plumbing, sources, comparisons.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "analysis/compare/collector.h"
#include "analysis/compare/comparison.h"
#include "analysis/page/call_tree.h"
#include "analysis/page/compared.h"
#include "analysis/page/items.h"
#include "analysis/page/page.h"
#include "analysis/page/sources.h"
#include "analysis/page/test_page.h"
#include "analysis/page/timeline.h"
#include "analysis/profile/testing/test_recording.h"
#include "analysis/report/holders/holders.h"

namespace geiger::page {
namespace {

using compare::Collector;
using compare::Which;
using profile::GroupBy;
using profile::Kind;
using profile::TestRecording;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KindsOfPages, HaveWordsForEach) {
  for (const profile::KindRules& rules : profile::kKindRules) {
    EXPECT_FALSE(about(rules.kind, false).empty()) << rules.name;
    EXPECT_FALSE(about(rules.kind, true).empty()) << rules.name;
    EXPECT_FALSE(title_of(rules.kind, true).empty()) << rules.name;
  }
}

TEST(BucketsOfTime, CoverTheSpanAndMeetAtTheirEdges) {
  const Buckets buckets({1000, 2000}, 3);
  EXPECT_EQ(buckets.count(), 3);
  EXPECT_THAT(buckets.edges(1000), ElementsAre(0, 334, 668, 1000));
  EXPECT_EQ(buckets.of(1000), 0);
  EXPECT_EQ(buckets.of(1333), 0);
  EXPECT_EQ(buckets.of(1334), 1);
  EXPECT_EQ(buckets.of(1999), 2);
  EXPECT_EQ(buckets.of(5000), 2);
  EXPECT_EQ(buckets.of(0), 0);
}

TEST(BucketsOfTime, AreFewerThanAskedForWhereThereIsNoTime) {
  EXPECT_THAT(Buckets({5, 5}, 100).edges(5), ElementsAre(0, 1));
  EXPECT_EQ(Buckets({0, 10}, 100).count(), 10);
  EXPECT_EQ(Buckets({0, 101}, 100).count(), 51);
}

TEST(NamesOfPage, AreCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc… (+1 bytes)");
  EXPECT_EQ(shortened("ab\u00e9", 3), "ab… (+2 bytes)");
  EXPECT_EQ(shortened(std::string(3, '\x80'), 2), "… (+3 bytes)");
}

/// root > a > b, root > a > c, root > d
struct SmallTree {
  Names names;
  CallTree tree{names};
  std::uint32_t a = child(CallTree::kRoot, "a"), b = child(a, "b"), c = child(a, "c"),
                d = child(CallTree::kRoot, "d");

  std::uint32_t child(std::uint32_t parent, const std::string& name) {
    const Frame frame{.name = names.intern(name)};
    return tree.child(parent, tree.frame(frame, frame));
  }
};

TEST(Pruning, KeepsTheHeaviestAndPutsTheRestBesideThem) {
  SmallTree small;
  EXPECT_EQ(small.child(small.a, "b"), small.b);
  const NameIndex rest = small.names.intern(kSmallerOnes);
  UsedNames used(small.names);
  const Pruned pruned = prune(small.tree, {1, 0.8, 0.6, 0.2, 0.2}, 3, used, rest);
  std::uint64_t cut = 0;
  const auto names = used.texts(100, cut);
  // The root with what is left of it, a with what is left of it, b.
  EXPECT_THAT(pruned.nodes.up, ElementsAre(0, 1, 2, 1, 2));
  EXPECT_EQ(pruned.moved[small.c], 3U);
  EXPECT_EQ(pruned.moved[small.d], 1U);
  EXPECT_EQ(pruned.left_out, 2U);
  EXPECT_EQ(names[static_cast<std::size_t>(pruned.frames.name[pruned.nodes.frame[1]])],
            kSmallerOnes);
  EXPECT_EQ(pruned.frames.flags[pruned.nodes.frame[1]], kRemark | kCut);
}

TEST(Pruning, LeavesASmallTreeAlone) {
  SmallTree small;
  UsedNames used(small.names);
  const Pruned pruned = prune(small.tree, {0, 0, 0, 0, 0}, 100, used, kNoName);
  EXPECT_EQ(pruned.nodes.up.size(), 5U);
  EXPECT_EQ(pruned.left_out, 0U);
}

TEST(SourceLines, AreThoseAroundWhatAppears) {
  TestRecording test;
  const auto at = [&](const std::string& function, const std::string& file, std::uint32_t line) {
    const auto location = test.location({function});
    profile::Frame& frame = test.recording.frames.back();
    frame.file = file;
    frame.line = line;
    return location;
  };
  test.recording.processes[0].end = 5000;
  test.sample(test.stack({at("f", "f.cc", 3), at("g", "f.cc", 12), at("h", "f.cc", 90)}), 100);
  test.sample(test.stack({at("f", "f.cc", 40), at("m", "missing.cc", 1)}), 100);
  PageOptions options;
  options.read_source = [](const std::string& path) -> std::optional<std::string> {
    if (path != "f.cc") return std::nullopt;
    std::string text;
    for (int i = 1; i <= 60; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  };
  const PageData data = page_of(test.recording, options);
  ASSERT_EQ(data.sources.size(), 2U);
  EXPECT_EQ(data.sources[0].from, 1U);
  EXPECT_EQ(data.sources[0].lines.size(), 17U);
  EXPECT_EQ(data.sources[1].from, 35U);
  EXPECT_EQ(data.sources[1].lines.front(), "line 35");
  EXPECT_EQ(data.sources[1].lines.size(), 11U);
  EXPECT_THAT(data.left_out, ElementsAre("1 source file not found here: missing.cc"));
  // Lines of a function are distinguished with and without the source.
  EXPECT_EQ(std::ranges::count(data.frames.name, data.frames.name[frame_of(data, "f")]), 2);
  const PageData plain = page_of(test.recording, {});
  EXPECT_EQ(std::ranges::count(plain.frames.name, plain.frames.name[frame_of(plain, "f")]), 2);
  EXPECT_THAT(plain.sources, IsEmpty());
}

TEST(Cells, TellProcessesApartWhereThereAreSeveral) {
  TestRecording test;
  test.recording.processes[0].executable = "/usr/bin/make";
  test.recording.processes[0].pid = 17;
  const auto stack = test.stack({test.location({"f"})});
  test.sample(stack, 100);
  EXPECT_FALSE(page_of(test.recording, {}).cells.front().has_processes);
  const auto second = test.add_process();
  test.recording.processes[second].executable = "/usr/bin/cc1";
  test.recording.processes[second].pid = 18;
  test.sample(stack, 100);
  test.recording.samples.back().process = second;
  const PageData data = page_of(test.recording, {});
  const Cells& table = data.cells.front();
  ASSERT_TRUE(table.has_processes);
  std::vector<std::string> names;
  for (const Cell& cell : table.cells) {
    names.push_back(data.names[static_cast<std::size_t>(cell.process)]);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre(testing::StartsWith("make, process 17, "),
                                                   testing::StartsWith("cc1, process 18, ")));
}

TEST(ShortNames, AreThoseThatPeopleReadOfFunctionsAlone) {
  TestRecording test;
  const auto resize =
      test.location({"std::vector<int, std::allocator<int> >::resize(unsigned long)"});
  test.sample(test.stack({resize, test.location({"main"})}), 100);
  const PageData data = page_of(test.recording, {});
  ASSERT_EQ(data.short_names.size(), data.names.size());
  std::map<std::string, std::string> shown;
  for (std::size_t i = 0; i < data.names.size(); ++i) shown[data.names[i]] = data.short_names[i];
  EXPECT_EQ(shown["std::vector<int, std::allocator<int> >::resize(unsigned long)"],
            "vector<int>::resize");
  EXPECT_EQ(shown["main"], "");
}

TEST(Leaks, HaveTheNodesOfTheirStacks) {
  TestRecording test(1024);
  test.recording.processes[0].end = 1'000'000;
  const auto main = test.location({"main"});
  const auto kept = test.stack({test.location({"keep"}), main});
  for (int i = 0; i < 200; ++i) {
    test.sample(kept, 100);
    test.recording.samples.back().time = 1000 + 4000 * static_cast<Nanoseconds>(i);
  }
  const PageData data = page_of(test.recording, {});
  ASSERT_TRUE(data.leaks.has_value());
  EXPECT_EQ(data.leaks->suspects, 1U);
  ASSERT_EQ(data.leaks->sites.size(), 1U);
  const auto frame = data.nodes.frame[data.leaks->sites[0].node];
  EXPECT_EQ(data.names[static_cast<std::size_t>(data.frames.name[frame])], "keep");
  PageOptions part;
  part.selection.to = 500'000;
  EXPECT_FALSE(page_of(test.recording, part).leaks.has_value());
}

TEST(Holders, AreThoseOfTheReportIfTheyWereStored) {
  TestRecording test;
  const auto kept = test.stack({test.location({"keep"}), test.location({"main"})});
  for (int i = 0; i < 50; ++i) test.sample(kept, 100'000);
  EXPECT_FALSE(page_of(test.recording, {}).holders.has_value());
  profile::Holders holders;
  for (std::uint32_t i = 0; i < 50; ++i) {
    // More than a page has room for, and one of each but two.
    const std::uint32_t root = std::min(i, 30U);
    holders.samples.push_back({i, profile::Hold::kReached, true, root, 0});
  }
  for (int i = 0; i <= 30; ++i) holders.roots.push_back("g_root" + std::to_string(i));
  holders.paths = {{}};
  profile::Observations observations;
  observations.holders = holders;
  test.recording.observations = {observations};
  profile::name_holders(test.recording);
  const PageData data = page_of(test.recording, {});
  ASSERT_TRUE(data.holders.has_value());
  const auto said = report::holders_report(test.recording, {});
  EXPECT_EQ(data.holders->sentence, said.value().sentence);
  EXPECT_EQ(data.holders->roots.size(), 31U);
  ASSERT_EQ(data.holders->sites.size(), 1U);
  EXPECT_EQ(data.holders->sites[0].parts.size(), 20U);
  EXPECT_THAT(data.left_out, testing::Contains("11 further lines of holders"));
  PageOptions part;
  part.selection.to = 500'000;
  EXPECT_FALSE(page_of(test.recording, part).holders.has_value());
}

TEST(MappedSeries, FollowsWhatTheProgramMapsItself) {
  TestRecording test;
  test.recording.processes[0].start = 1000;
  test.recording.processes[0].end = 5000;
  test.recording.processes[0].page_bytes = 4096;
  EXPECT_THAT(mapped_series(test.recording, {1000, 5001}), IsEmpty());
  using Event = profile::MappingEvent;
  const auto add = [&](Event::Kind kind, Nanoseconds time, Bytes size) {
    Event event;
    event.kind = kind;
    event.time = time;
    event.address = 0x10000;
    event.bytes = size;
    event.protection = 3;
    event.flags = 0x22;  // MAP_PRIVATE | MAP_ANONYMOUS
    test.recording.mappings.push_back(event);
  };
  add(Event::Kind::kMap, 2000, 8192);
  add(Event::Kind::kUnmap, 3000, 4096);
  EXPECT_THAT(mapped_series(test.recording, {1000, 5001}),
              ElementsAre(Pair(0, 0), Pair(1000, 8192), Pair(2000, 4096), Pair(4000, 4096)));
}

TEST(ResidentSeries, AddsProcessesAndEndsWithThem) {
  TestRecording test;
  test.recording.processes[0].end = 2000;
  const auto second = test.add_process();
  test.recording.processes[second].end = 5000;
  const auto observe = [&](std::uint32_t process, std::vector<std::pair<Nanoseconds, Bytes>> read) {
    profile::Observations& observed = test.recording.observations.emplace_back();
    observed.process = process;
    for (const auto& [time, resident] : read) {
      observed.series.push_back({.time = time, .counts = {.resident = resident}});
    }
  };
  observe(0, {{1000, 10}, {1500, 20}});
  observe(second, {{1200, 100}, {4000, 300}});
  const auto series = resident_series(test.recording, {1000, 5001});
  EXPECT_THAT(series, ElementsAre(Pair(0, 10), Pair(200, 110), Pair(500, 120), Pair(1000, 100),
                                  Pair(3000, 300), Pair(4000, 0)));
}

TestRecording run_of(int of_f, int of_g) {
  TestRecording test(1024);
  test.recording.processes[0].end = 5000;
  const auto main = test.location({"main"});
  const auto f = test.stack({test.location({"f"}), main});
  const auto g = test.stack({test.location({"g"}), main});
  for (int i = 0; i < of_f; ++i) test.sample(f, 100);
  for (int i = 0; i < of_g; ++i) test.sample(g, 100);
  return test;
}

compare::Comparison compared(const profile::Recording& before, const profile::Recording& after,
                             const compare::Grouping& grouping) {
  Collector collector(Kind::kAllocated, grouping);
  EXPECT_TRUE(collector.add(Which::kBefore, before, select(before, Kind::kAllocated)).has_value());
  EXPECT_TRUE(collector.add(Which::kAfter, after, select(after, Kind::kAllocated)).has_value());
  return compare::compare(collector.finish(), 0.95);
}

TEST(ComparedRuns, ASubtreeIsJudgedByItsOwnSums) {
  const TestRecording before = run_of(100, 400);
  const TestRecording after = run_of(300, 410);
  const ComparedRuns runs{
      {"before"},
      {"after"},
      compared(before.recording, after.recording, {GroupBy::kStack, false, true}),
      {compared(before.recording, after.recording, {GroupBy::kFunction, false, false})}};
  PageOptions options;
  options.compared = &runs;
  const PageData data = page_of(after.recording, options);
  ASSERT_TRUE(data.diff);
  std::map<std::string, const DiffNode*> by_name;
  for (const DiffNode& node : data.diff->nodes) {
    const NameIndex name = data.frames.name[data.nodes.frame[node.node]];
    by_name[data.names[static_cast<std::size_t>(name)]] = &node;
  }
  ASSERT_EQ(by_name.size(), 3U);
  const auto verdict = [&](const char* name) {
    return data.names[static_cast<std::size_t>(by_name.at(name)->verdict)];
  };
  EXPECT_EQ(verdict("f"), "grew");
  EXPECT_EQ(verdict("g"), "noise");
  EXPECT_EQ(verdict("main"), "grew");
  const DiffNode& main = *by_name.at("main");
  EXPECT_NEAR(main.delta, data.diff->total.delta, 1e-6);
  EXPECT_NEAR(main.interval.hi, data.diff->total.interval.hi, 1e-6 * main.interval.hi);
  EXPECT_NEAR(main.delta, by_name.at("f")->delta + by_name.at("g")->delta, 1e-6);
  const estimation::Interval& limits = data.diff->total.after.interval;
  EXPECT_LE(main.after_limits.lo, limits.lo);
  EXPECT_GE(main.after_limits.lo, 0.999 * limits.lo);
  EXPECT_GE(main.after_limits.hi, limits.hi);
  EXPECT_LE(main.after_limits.hi, 1.001 * limits.hi);
  ASSERT_EQ(data.diff->tables.size(), 1U);
  EXPECT_EQ(data.diff->tables[0].rows[0].name, "f");
}

TEST(ComparedRuns, WhatIsTooMuchIsCutAndThatIsSaid) {
  TestRecording before;
  before.recording.processes[0].end = 5000;
  for (std::size_t i = 0; i < kMostRows + 5; ++i) {
    before.sample(before.stack({before.location({"f" + std::to_string(i)})}), 100);
  }
  const ComparedRuns runs{
      {},
      {},
      compared(before.recording, before.recording, {GroupBy::kStack, false, true}),
      {compared(before.recording, before.recording, {GroupBy::kFunction, false, false})}};
  std::vector<std::string> left_out;
  const Diff diff = diff_of(runs, left_out);
  EXPECT_EQ(diff.tables[0].rows.size(), kMostRows);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out[0], HasSubstr("5 rows of the comparison by function"));
  PageOptions options;
  options.compared = &runs;
  options.most_bytes = 1;
  const PageData data = page_of(TestRecording().recording, options);
  EXPECT_FALSE(data.diff->nodes.empty());
  for (std::size_t i = 0; i < data.diff->nodes.size(); ++i) {
    const std::uint32_t node = data.diff->nodes[i].node;
    const std::int64_t before_it = i == 0 ? -1 : std::int64_t{data.diff->nodes[i - 1].node};
    EXPECT_GT(node, before_it);
    EXPECT_EQ(data.frames.flags[data.nodes.frame[node]] & kRemark, 0);
  }
}

}  // namespace
}  // namespace geiger::page
