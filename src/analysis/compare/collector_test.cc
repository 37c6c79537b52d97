#include "analysis/compare/collector.h"

#include <gmock/gmock.h>

#include <utility>

#include "analysis/compare/gates.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::compare {
namespace {

using profile::GroupBy;
using profile::Kind;
using profile::Recording;
using profile::TestRecording;
using ::testing::DoubleEq;
using ::testing::ElementsAre;

/// One stack: leaf < parse < main, sampled `count` times.
TestRecording run_of(const std::string& leaf, int count, Bytes interval = 1024) {
  TestRecording test(interval);
  test.recording.processes[0].executable = "/usr/bin/target";
  const auto stack =
      test.stack({test.location({leaf}), test.location({"parse"}), test.location({"main"})});
  for (int i = 0; i < count; ++i) test.sample(stack, 16);
  return test;
}

void add(Collector& collector, Which which, const Recording& recording,
         Kind kind = Kind::kAllocated) {
  ASSERT_TRUE(collector.add(which, recording, profile::select(recording, kind)).has_value());
}

std::vector<std::string> names_of(const Collected& collected) {
  std::vector<std::string> names;
  for (const Site& site : collected.sites) names.push_back(site.name + "|" + site.detail);
  return names;
}

Collected both(const Recording& before, const Recording& after, GroupBy by = GroupBy::kFunction,
               bool is_inclusive = false) {
  Collector collector(Kind::kAllocated, {by, is_inclusive});
  add(collector, Which::kBefore, before);
  add(collector, Which::kAfter, after);
  return collector.finish();
}

TEST(Names, StemsSurviveTheCompiler) {
  EXPECT_EQ(stem_of("parse"), "parse");
  EXPECT_EQ(stem_of("parse.constprop.0"), "parse");
  EXPECT_EQ(stem_of("parse.isra.0.part.12"), "parse");
  EXPECT_EQ(stem_of("parse.cold"), "parse");
  EXPECT_EQ(stem_of("ns::f(int) [clone .constprop.0] [clone .cold]"), "ns::f(int)");
  EXPECT_EQ(stem_of("f.llvm.123456789"), "f");
  EXPECT_EQ(stem_of("v1.2"), "v1.2");
  EXPECT_EQ(stem_of(".cold"), ".cold");
  EXPECT_EQ(stem_of(""), "");
  EXPECT_EQ(stem_of("42"), "42");
}

TEST(Names, ModulesAreKnownByTheirFiles) {
  EXPECT_EQ(module_name("/usr/lib/libz.so.1.2.13"), "libz.so");
  EXPECT_EQ(module_name("/opt/new/libz.so.1.3"), "libz.so");
  EXPECT_EQ(module_name("/usr/bin/python3.11"), "python3.11");
  EXPECT_EQ(module_name("[vdso]"), "[vdso]");
  EXPECT_EQ(module_name(""), "");
}

TEST(Collector, MatchesSitesAcrossAddressesBuildsAndPaths) {
  TestRecording before = run_of("make", 3);
  TestRecording after = run_of("make.constprop.0", 5);
  after.recording.modules[0] = {"/home/me/build/target-new", "ffff", 0x7f0000, 0x7f9000, 0x7f0000};
  after.recording.processes[0].executable = "/home/me/build/target-new";
  for (profile::Location& location : after.recording.locations) location.vaddr += 0x4444;
  for (profile::Frame& frame : after.recording.frames) frame.line = 77;
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kStack, GroupBy::kModule}) {
    const Collected collected = both(before.recording, after.recording, by);
    ASSERT_EQ(collected.sites.size(), 1U);
    EXPECT_EQ(collected.sites[0].before.sums.samples, 3U);
    EXPECT_EQ(collected.sites[0].after.sums.samples, 5U);
  }
  EXPECT_THAT(names_of(both(before.recording, after.recording)), ElementsAre("make|target"));
  EXPECT_THAT(names_of(both(before.recording, after.recording, GroupBy::kStack)),
              ElementsAre("make|parse < main"));
  EXPECT_THAT(names_of(both(before.recording, after.recording, GroupBy::kModule)),
              ElementsAre("target|"));
}

TEST(Collector, FunctionsOfScriptsAreKnownByTheirFiles) {
  TestRecording test;
  for (const char* file : {"/srv/a.js", "/srv/b.js"}) {
    const auto location = test.location({"get"}, profile::kNone);
    test.recording.frames.back().file = file;
    test.sample(test.stack({location}), 16);
  }
  EXPECT_THAT(names_of(both(test.recording, test.recording)), ElementsAre("get|a.js", "get|b.js"));
}

/// Two samples within "module=a", three within "marks=slow" inside it, one in "module=b", one in
/// none.
TestRecording run_with_labels() {
  TestRecording test;
  test.recording.labels = {
      {"module=a", profile::kNone}, {"marks=slow", 0}, {"module=b", profile::kNone}};
  const auto stack = test.stack({test.location({"main"})});
  for (const std::uint32_t label : {0U, 0U, 1U, 1U, 1U, 2U, profile::kNone}) {
    test.sample(stack, 16).label = label;
  }
  return test;
}

std::vector<std::uint64_t> samples_of(const std::vector<Site>& sites) {
  std::vector<std::uint64_t> samples;
  for (const Site& site : sites) samples.push_back(site.after.sums.samples);
  return samples;
}

TEST(Collector, LabelsAreSitesWithThoseAroundThem) {
  const TestRecording test = run_with_labels();
  const Collected apart = both(test.recording, test.recording, GroupBy::kLabel);
  EXPECT_THAT(names_of(apart),
              ElementsAre("[no label]|", "module=a|", "module=a / marks=slow|", "module=b|"));
  EXPECT_THAT(samples_of(apart.sites), ElementsAre(1, 2, 3, 1));
  EXPECT_EQ(apart.after.total.sums.samples, 7U);
  // What is within no label is not one of those that a limit on each is about.
  Gates gates{{}, {{{Measured::kBytes, 1}, "test"}}, std::nullopt, 0.95};
  EXPECT_EQ(check(apart, gates).results.size(), 3U);
  const Collected inside = both(test.recording, test.recording, GroupBy::kLabel, true);
  EXPECT_THAT(samples_of(inside.sites), ElementsAre(1, 5, 3, 1));
}

TEST(Collector, PatternsOfLabelsHoldWhatIsInside) {
  std::vector<Pattern> patterns(5);
  patterns[0].label = "module=a";
  patterns[1].label = "module=*";
  patterns[2].label = "marks=slow";
  patterns[3].label = "module=a / marks=?low";
  patterns[4].function = "main";
  const TestRecording test = run_with_labels();
  Collector collector(Kind::kAllocated, {}, patterns);
  add(collector, Which::kAfter, test.recording);
  const Collected collected = collector.finish();
  EXPECT_THAT(samples_of(collected.budgeted), ElementsAre(5, 6, 3, 3, 7));
  EXPECT_EQ(collected.budgeted[0].name, "module=a");
  // Functions are sites as they are without patterns of labels.
  EXPECT_THAT(samples_of(collected.sites), ElementsAre(7));
}

TEST(Collector, PatternsOfLabelsCannotTellOfLostOnes) {
  TestRecording test = run_with_labels();
  test.recording.labels.push_back({"[lost label]", profile::kNone, true});
  test.recording.samples[0].label = static_cast<std::uint32_t>(test.recording.labels.size() - 1);
  std::vector<Pattern> patterns(1);
  patterns[0].label = "no such label";
  Collector collector(Kind::kAllocated, {}, patterns);
  add(collector, Which::kAfter, test.recording);
  const Collected collected = collector.finish();
  EXPECT_EQ(collected.budgeted[0].after.samples(), 0U);
  EXPECT_EQ(collected.budgeted[0].after.sums.open.samples, 1U);
}

TEST(Collector, InclusiveSitesHoldWhatTheyCalledOnce) {
  TestRecording test;
  const auto main = test.location({"main"});
  const auto walk = test.location({"walk"});
  test.sample(test.stack({walk, walk, walk, main}), 16);
  const Collected collected = both(test.recording, test.recording, GroupBy::kFunction, true);
  EXPECT_THAT(names_of(collected), ElementsAre("main|target", "walk|target"));
  EXPECT_EQ(collected.sites[0].before.sums.samples, 1U);
  EXPECT_EQ(collected.sites[1].before.sums.samples, 1U);
}

/// A stack per line: make < main, each sampled so often.
TestRecording run_at(const std::string& directory,
                     const std::vector<std::pair<std::uint32_t, int>>& lines) {
  TestRecording test;
  test.recording.processes[0].executable = "/usr/bin/target";
  const auto main = test.location({"main"});
  for (const auto& [line, count] : lines) {
    const auto make = test.location({"make"});
    profile::Frame& frame = test.recording.frames[test.recording.locations[make].frames[0]];
    frame.file = directory + "/store.cc";
    frame.line = line;
    const auto stack = test.stack({make, main});
    for (int i = 0; i < count; ++i) test.sample(stack, 16);
  }
  return test;
}

std::vector<std::string> lines_of(const Collected& collected) {
  std::vector<std::string> lines;
  for (const Site& site : collected.sites) {
    lines.push_back(site.name + " " + text_of(site.where) + " " +
                    std::to_string(site.before.sums.samples) + " to " +
                    std::to_string(site.after.sums.samples));
  }
  return lines;
}

TEST(Collector, LinesAreTheSameInEveryDirectory) {
  const TestRecording before = run_at("/home/one", {{7, 3}, {9, 2}, {7, 1}});
  const TestRecording after = run_at("/home/two", {{7, 5}, {12, 2}});
  EXPECT_THAT(
      lines_of(both(before.recording, after.recording, GroupBy::kLine)),
      ElementsAre("make store.cc:7 4 to 5", "make store.cc:9 2 to 0", "make store.cc:12 0 to 2"));
  EXPECT_THAT(lines_of(both(before.recording, after.recording, GroupBy::kLine, true)),
              ElementsAre("main  6 to 7", "make store.cc:7 4 to 5", "make store.cc:9 2 to 0",
                          "make store.cc:12 0 to 2"));
  const auto functions = both(before.recording, after.recording).sites;
  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(functions[0].before.sums.samples, 6U);
}

TEST(Collector, AddressesAreSitesOnlyWithinOneBuild) {
  TestRecording test;
  // Outside of their module: within it the caller with a name would be blamed.
  test.recording.modules.push_back({"/usr/bin/caller", "cd34", 0x10000, 0x19000, 0});
  test.sample(test.stack({test.location({}), test.location({"main"}, 1)}), 16);
  test.sample(test.stack({test.location({}), test.location({"main"}, 1)}), 16);
  EXPECT_THAT(names_of(both(test.recording, test.recording)),
              ElementsAre("target+0x1000|target", "target+0x1020|target"));
  TestRecording rebuilt = test;
  rebuilt.recording.modules[0].build_id = "other";
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kStack}) {
    const Collected collected = both(test.recording, rebuilt.recording, by);
    ASSERT_EQ(collected.sites.size(), 1U);
    EXPECT_EQ(collected.sites[0].name, "[no name]");
    EXPECT_EQ(collected.sites[0].before.sums.samples, 2U);
    ASSERT_EQ(collected.sites[0].before.values.size(), 1U);
    EXPECT_DOUBLE_EQ(collected.sites[0].before.values[0].weighted_bytes,
                     collected.sites[0].before.sums.weighted_bytes);
  }
}

TEST(Collector, WhatARunDidNotSeeItCouldHaveMissed) {
  Collector collector(Kind::kAllocated, {});
  add(collector, Which::kBefore, run_of("make", 4, 64).recording);
  add(collector, Which::kBefore, run_of("other", 4, 8192).recording);
  add(collector, Which::kAfter, run_of("make", 4, 64).recording);
  const Collected collected = collector.finish();
  ASSERT_EQ(collected.sites.size(), 2U);
  const Site& make = collected.sites[0];
  EXPECT_NEAR(make.before.sums.largest_interval, 8192, 1);
  EXPECT_NEAR(make.after.sums.largest_interval, 64, 1);
  ASSERT_EQ(make.before.values.size(), 1U);
  EXPECT_EQ(make.before.values[0].run, 0U);
  const Site& other = collected.sites[1];
  EXPECT_EQ(other.before.values[0].run, 1U);
  EXPECT_TRUE(other.after.values.empty());
  EXPECT_NEAR(other.after.sums.largest_interval, 64, 1);
  EXPECT_EQ(collected.before.smallest_interval, 64);
  EXPECT_EQ(collected.before.largest_interval, 8192);
}

TEST(Collector, SidesAddUpTheirRuns) {
  Collector collector(Kind::kAllocated, {});
  double bytes = 0;
  for (const int count : {3, 1, 7}) {
    TestRecording run = run_of("make", count);
    run.recording.threads.emplace_back().bytes = Bytes{1000} * static_cast<Bytes>(count);
    add(collector, Which::kBefore, run.recording);
    bytes += profile::total(run.recording, profile::select(run.recording, Kind::kAllocated))
                 .weighted_bytes;
  }
  const Collected collected = collector.finish();
  ASSERT_EQ(collected.before.runs.size(), 3U);
  EXPECT_TRUE(collected.after.runs.empty());
  EXPECT_EQ(collected.before.runs[2].exact_bytes, 7000U);
  EXPECT_THAT(collected.before.total.sums.weighted_bytes, DoubleEq(bytes));
  ASSERT_EQ(collected.sites[0].before.values.size(), 3U);
  EXPECT_EQ(collected.sites[0].before.values[1].run, 1U);
}

TEST(Collector, KnowsWhichCertainObjectsTheOtherSidePutToTrial) {
  const auto run_with = [](Bytes interval, bool is_pure) {
    TestRecording test(interval);
    test.recording.processes[0].is_pure = is_pure;
    const auto stack = test.stack({test.location({"make"})});
    for (const Bytes size : {100, 200, 300}) test.sample(stack, size).is_certain = size >= interval;
    return test.recording;
  };
  const auto uneven = [&](Bytes before, Bytes after, bool is_pure = false) {
    return both(run_with(before, false), run_with(after, is_pure)).sites[0].before.uneven_bytes;
  };
  EXPECT_EQ(uneven(100, 100), 0);
  EXPECT_EQ(uneven(100, 200), 100);
  EXPECT_EQ(uneven(100, 1000), 600);
  EXPECT_EQ(uneven(200, 100), 0) << "what is uneven then is on the other side";
  EXPECT_EQ(uneven(200, 200, true), 500);
}

/// E of both sides of a site with one sample each that was tried.
std::pair<double, double> next_events(Bytes before_interval, Bytes before_size,
                                      Bytes after_interval, Bytes after_size) {
  const auto run_with = [](Bytes interval, Bytes size) {
    TestRecording test(interval);
    test.sample(test.stack({test.location({"make"})}), size);
    return test.recording;
  };
  const Site site =
      both(run_with(before_interval, before_size), run_with(after_interval, after_size)).sites[0];
  return {site.before.sums.largest_interval, site.after.sums.largest_interval};
}

TEST(Collector, LargeObjectsPutToTrialAreTheNextEventOnBothSides) {
  const auto [before, after] = next_events(1024, 16, 1024, 8192);
  EXPECT_NEAR(before, 8192, 3);
  EXPECT_NEAR(after, 8192, 3);
}

TEST(Collector, SmallObjectsOfACoarseRunAreNotLarge) {
  const auto [before, after] = next_events(16384, 16, 64, 16);
  EXPECT_NEAR(before, 16384, 1);
  EXPECT_NEAR(after, 64, 1);
}

TEST(Collector, PatternsTakeWholeStacks) {
  Collector collector(Kind::kAllocated, {},
                      {{}, {"par*", "*"}, {"make", "*"}, {"make", "lib*"}, {"main", "target"}});
  add(collector, Which::kAfter, run_of("make", 3).recording);
  add(collector, Which::kAfter, run_of("else", 2).recording);
  const Collected collected = collector.finish();
  std::vector<std::uint64_t> samples;
  for (const Site& site : collected.budgeted) samples.push_back(site.after.sums.samples);
  EXPECT_THAT(samples, ElementsAre(5U, 5U, 3U, 0U, 5U));
}

TEST(Collector, RefusesOtherKinds) {
  const TestRecording test = run_of("make", 3);
  Collector collector(Kind::kAllocated, {});
  EXPECT_EQ(
      collector
          .add(Which::kAfter, test.recording, profile::select(test.recording, Kind::kLiveAtEnd))
          .reason(),
      "profiles of different kinds cannot be compared");
}

}  // namespace
}  // namespace geiger::compare
