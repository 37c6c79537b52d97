// Cells against the totals that every other report prints, and what bounds a page.
#include "analysis/page/page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "analysis/page/cells.h"
#include "analysis/page/page_data.h"
#include "analysis/page/test_page.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "analysis/profile/testing/example_recording.h"
#include "analysis/profile/testing/test_recording.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/overview/summary.h"
#include "estimation/estimate.h"

namespace geiger::page {
namespace {

using nlohmann::json;
using profile::Kind;
using profile::Recording;
using profile::Selection;
using profile::TestRecording;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const PageProfile& of(const PageData& data, Kind kind) {
  return *std::ranges::find(data.profiles, profile::name_of(kind), &PageProfile::kind);
}

/// The value that the cells of a kind add up to, over the buckets first .. last.
CellSums sums_in(const PageData& data, Kind kind, std::int32_t first, std::int32_t last) {
  const PageProfile& page = of(data, kind);
  return add_up(data, page, first, last);
}

void expect_arrives(const PageData& data, const PageProfile& page) {
  if (page.cells < 0) return;
  const auto buckets = static_cast<std::int32_t>(data.timeline->edges.size() - 1);
  const CellSums sums = add_up(data, page, 0, buckets - 1);
  const auto near = [](double expected) {
    return ::testing::DoubleNear(expected, 1e-9 * (1 + std::abs(expected)));
  };
  EXPECT_THAT(sums.weighted + sums.certain, near(page.bytes.value)) << page.kind;
  EXPECT_THAT(sums.variance, near(page.bytes.variance)) << page.kind;
  EXPECT_THAT(sums.certain, near(page.bytes.exact)) << page.kind;
  EXPECT_THAT(sums.objects, near(page.objects.value)) << page.kind;
  EXPECT_EQ(sums.samples, page.bytes.samples) << page.kind;
}

PageData page_of_all(const Recording& recording, std::size_t most = PageOptions::kMostBytes) {
  PageOptions options;
  options.most_bytes = most;
  return page_of(recording, options);
}

TEST(Page, CellsArriveAtTheTotalsOfEveryKind) {
  const Recording recording = profile::example::small_server();
  const PageData data = page_of_all(recording);
  EXPECT_EQ(data.profiles.size(), 17U);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_GT(of(data, Kind::kAllocated).bytes.value, 12.0 * kMiB);
}

TEST(Page, RowsCanBeEstimatedAsListedOnes) {
  Recording recording = profile::example::small_server();
  recording.epochs.push_back({64 * kKiB, estimation::rate_of_interval(64 * kKiB)});
  recording.samples.back().epoch = 1;
  const PageData data = page_of_all(recording);
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtPeak, Kind::kOverhead}) {
    const auto sums = total(recording, select(recording, kind));
    EXPECT_DOUBLE_EQ(sums_in(data, kind, 0, 239).smallest_interval, sums.smallest_interval);
    EXPECT_DOUBLE_EQ(of(data, kind).largest_interval, sums.largest_interval);
  }
}

TEST(Page, EveryWindowAndEveryInstantIsThatOfTheSelection) {
  const Recording recording = profile::example::small_server();
  const PageData data = page_of_all(recording);
  const auto& edges = data.timeline->edges;
  const Nanoseconds start = profile::start_of(recording);
  for (const auto& [first, last] : {std::pair{0, 20}, {3, 3}, {10, 60}, {100, 239}}) {
    Selection window;
    window.from = start + edges[first];
    window.to = start + edges[last + 1];
    const auto allocated = total(recording, select(recording, window));
    const CellSums born = sums_in(data, Kind::kAllocated, first, last);
    EXPECT_NEAR(born.weighted, allocated.weighted_bytes, 1) << first;
    EXPECT_EQ(born.samples, allocated.samples);
    if (last + 2 == static_cast<int>(edges.size())) continue;
    Selection instant;
    instant.kind = Kind::kLiveAtEnd;
    instant.at = *window.to - 1;
    const auto live = total(recording, select(recording, instant));
    const CellSums alive = sums_in(data, Kind::kLiveAtEnd, first, last);
    EXPECT_NEAR(alive.weighted, live.weighted_bytes, 1) << last;
    EXPECT_NEAR(data.timeline->live[last].value, live.all_bytes(), 1);
    EXPECT_EQ(data.timeline->live[last].interval.hi,
              estimation::estimate_bytes(live, 0.95).interval.hi);
  }
}

TEST(Page, AWindowOfTheCommandLineIsThePagesTime) {
  const Recording recording = profile::example::small_server();
  PageOptions options;
  options.selection.from = profile::start_of(recording) + 50'000'000;
  options.selection.to = profile::start_of(recording) + 420'000'000;
  const PageData data = page_of(recording, options);
  EXPECT_EQ(data.timeline->edges.front(), 50'000'000U);
  EXPECT_EQ(data.timeline->edges.back(), 420'000'000U);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_THAT(of(data, Kind::kResident).unavailable, HasSubstr("not for a window"));
}

TEST(Page, FiltersHoldForAllKinds) {
  const Recording recording = profile::example::small_server();
  PageOptions options;
  options.selection.keeps = [](const profile::Sample& sample) { return sample.requested < 1000; };
  const PageData data = page_of(recording, options);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_EQ(of(data, Kind::kAllocated).bytes.samples, 12U);
  EXPECT_FALSE(of(data, Kind::kAllocated).exact_total);
}

TEST(Page, WhatOutlivedItsProcessIsGoneWithIt) {
  profile::TestRecording test;
  const auto stack = test.stack({test.location({"leak"})});
  test.recording.processes[0].end = 500'000;
  test.sample(stack, 100);
  const auto second = test.add_process();
  test.recording.processes[second].end = 1'000'000;
  test.sample(stack, 100, 600'000).process = second;
  const PageData data = page_of_all(test.recording);
  const PageProfile& live = of(data, Kind::kLiveAtEnd);
  expect_arrives(data, live);
  EXPECT_EQ(live.bytes.samples, 1U);
  const auto samples_until = [&](std::int32_t last) { return add_up(data, live, 0, last).samples; };
  const auto buckets = static_cast<std::int32_t>(data.timeline->edges.size() - 1);
  EXPECT_EQ(samples_until(buckets / 4), 1U);
  EXPECT_EQ(samples_until(buckets / 2 + 10), 0U);
  EXPECT_EQ(samples_until(buckets - 2), 1U);
  EXPECT_EQ(samples_until(buckets - 1), 1U);
  EXPECT_EQ(data.timeline->live.back().samples, 1U);
}

TEST(Page, SamplesWithoutTheirAllocationAreAliveButNotAllocated) {
  profile::TestRecording test;
  const auto stack = test.stack({test.location({"old"})});
  test.recording.processes[0].end = 10'000;
  test.sample(stack, 100, 1500).seen_from = 1800;
  test.sample(stack, 100, 2500);
  const PageData data = page_of_all(test.recording);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_EQ(of(data, Kind::kAllocated).bytes.samples, 1U);
  EXPECT_EQ(of(data, Kind::kLiveAtEnd).bytes.samples, 2U);
}

TEST(Page, ThinnedFatesHaveCellsOfTheirOwn) {
  Recording recording = profile::example::small_server();
  recording.processes[0].thinning = 1;
  for (std::size_t i = 0; i < recording.samples.size(); i += 2) {
    recording.samples[i].is_thinned_out = true;
  }
  const PageData data = page_of_all(recording);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_NE(of(data, Kind::kAllocated).cells, of(data, Kind::kLiveAtEnd).cells);
  EXPECT_FALSE(data.timeline->live.empty());
}

/// Every third sample of a queried process has no answer.
TestRecording partly_answered(std::size_t samples) {
  TestRecording test(1024);
  test.recording.processes[0].end = 5000;
  for (std::uint32_t i = 0; i < samples; ++i) {
    const auto stack = test.stack({test.location({"f" + std::to_string(i % 7)})});
    const Bytes size = Bytes{16} << i % 9;
    test.sample(stack, size).is_certain = size >= 1024;
    if (i % 3 != 0) test.recording.residency_answers.push_back({i, 3000, size / 2});
  }
  return test;
}

TEST(Page, WhatHasNoAnswerIsOpenInItsCells) {
  const TestRecording test = partly_answered(60);
  const auto sums = total(test.recording, select(test.recording, Kind::kResident));
  ASSERT_GT(sums.open.certain_samples, 0U);
  for (const std::size_t most : {PageOptions::kMostBytes, std::size_t{1}}) {
    const PageData data = page_of_all(test.recording, most);
    const PageProfile& page = of(data, Kind::kResident);
    expect_arrives(data, page);
    const CellSums cells = add_up(data, page, 0, 0);
    EXPECT_EQ(cells.open_samples, sums.open.samples + sums.open.certain_samples);
    EXPECT_NEAR(cells.open_bytes, sums.open.all_bytes(), 1e-6);
    EXPECT_NEAR(cells.open_variance, sums.open.bytes_variance, 1e-6 * sums.open.bytes_variance);
    EXPECT_THAT(page.about, HasSubstr("count as between none and all of their bytes"));
  }
  const json written = json::parse(page_data(test.recording, {}));
  std::size_t tables_with_open = 0;
  for (const json& table : written["cells"]) tables_with_open += table["strata"].contains("open");
  EXPECT_EQ(tables_with_open, 1U);
}

TEST(Page, ObjectsWithoutBytesAreCounted) {
  TestRecording test;
  test.recording.processes[0].end = 5000;
  test.sample(test.stack({test.location({"f"})}), 0);
  const PageData data = page_of_all(test.recording);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_EQ(of(data, Kind::kAllocated).bytes.samples, 1U);
}

TEST(Page, AggregatedRecordingsHaveNoTimes) {
  profile::TestRecording test;
  const auto stack = test.stack({test.location({"f"})});
  test.recording.processes[0].is_aggregated = true;
  profile::Tally tally;
  tally.alike.stack = stack;
  tally.alike.requested = 100;
  tally.allocated = 7;
  tally.freed = 3;
  test.recording.tallies.push_back(tally);
  const PageData data = page_of_all(test.recording);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_EQ(of(data, Kind::kAllocated).bytes.samples, 7U);
  EXPECT_EQ(of(data, Kind::kLiveAtEnd).bytes.samples, 4U);
  EXPECT_THAT(of(data, Kind::kLiveAtPeak).unavailable, HasSubstr("aggregated"));
  EXPECT_THAT(data.timeline->live, IsEmpty());
  EXPECT_THAT(data.lifetimes, IsEmpty());
}

TEST(Page, CurvesOfFewSamplesHaveIntervalsFromTheStartToTheLongestWatched) {
  profile::TestRecording test;
  const auto stack = test.stack({test.location({"few"})});
  test.recording.processes[0].end = 4'000'000'000;
  for (const Nanoseconds time : {2000, 3000, 4000}) test.sample(stack, 100, time);
  test.sample(stack, 100, 2000).free_time = 2'000'002'000;
  const PageData data = page_of_all(test.recording);
  ASSERT_EQ(data.lifetimes.size(), 2U);
  const std::vector<SurvivalPoint>& points = data.lifetimes[1].points;
  EXPECT_EQ(points.front().time, 0);
  EXPECT_EQ(points.front().value, 1);
  EXPECT_LT(points.front().lo, 0.5) << "nothing was freed yet, of four samples";
  EXPECT_THAT(points, Contains(::testing::Field(&SurvivalPoint::time, 1e9)));
  EXPECT_EQ(points.back().time, 4e9 - 2000);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &SurvivalPoint::time));
}

TEST(Page, NothingRecordedIsAPageToo) {
  const PageData none = page_of_all(Recording{});
  EXPECT_EQ(none.profiles.size(), 17U);
  profile::TestRecording test;
  const PageData empty = page_of_all(test.recording);
  EXPECT_EQ(of(empty, Kind::kAllocated).bytes.value, 0);
  EXPECT_GT(of(empty, Kind::kAllocated).bytes.interval.hi, 1024);
  EXPECT_EQ(empty.nodes.up.size(), 1U);
}

TEST(Page, TheTreeStandsRootFirst) {
  const PageData data = page_of_all(profile::example::small_server());
  ASSERT_EQ(data.nodes.up.size(), data.nodes.frame.size());
  EXPECT_EQ(data.nodes.up.front(), 0U);
  for (std::size_t i = 1; i < data.nodes.up.size(); ++i) {
    EXPECT_GE(data.nodes.up[i], 1U);
    EXPECT_LE(data.nodes.up[i], i);
  }
  EXPECT_THAT(path_to(data, "make_buffer"), ElementsAre("main", "serve(int)", "make_buffer"));
  EXPECT_THAT(path_to(data, "grow"),
              ElementsAre("main", "serve(int)", "read_request(Request&)", "grow"));
  const auto flags_of = [&](const std::string& name) {
    return data.frames.flags[frame_of(data, name)];
  };
  EXPECT_EQ(flags_of("grow"), kInlined | kOwn);
  EXPECT_EQ(flags_of("std::string::_M_create"), kPlumbing);
  EXPECT_EQ(flags_of("main"), kOwn);
}

/// What a page needs to answer its own filters as the reports do.
TEST(Page, TellsWhatIsNotKnownOfStacksThreadsAndTypes) {
  TestRecording test;
  test.recording.modules.push_back({"/usr/lib/x86_64-linux-gnu/libc.so.6", "", 0, 0, 0});
  const auto in_program = test.location({});
  const auto in_libc = test.location({}, 1);
  test.recording.threads.push_back({.process = 0, .tid = 7, .name = "io", .earlier_name = "main"});
  for (const bool is_cut : {false, true}) {
    test.sample(test.stack({in_program, in_libc}, is_cut), 100).thread = 0;
  }
  PageOptions options;
  options.scope.open = {"stacks that were cut"};
  const PageData data = page_of(test.recording, options);
  EXPECT_EQ(data.open, options.scope.open);
  EXPECT_EQ(data.frames.flags[frame_of(data, "[truncated]")], kRemark | kCut);
  EXPECT_EQ(std::ranges::count(data.frames.flags, kUnknown | kPlumbing | kRuntime), 1);
  const auto name = [&](NameIndex index) { return data.names[static_cast<std::size_t>(index)]; };
  EXPECT_EQ(name(data.unknown_type), "[unknown]");
  ASSERT_EQ(data.may_be.size(), 2U);
  EXPECT_EQ(name(data.may_be[0].thread), "main, then io");
  EXPECT_EQ(name(data.may_be[0].other), "io");
  EXPECT_EQ(name(data.may_be[1].other), "main");
  EXPECT_THAT(to_json(data), HasSubstr(R"("open":["stacks that were cut"])"));
}

TEST(Page, FramesOfInterpretersHaveAFlag) {
  Recording recording = profile::example::small_server();
  for (profile::Frame& frame : recording.frames) {
    if (frame.function == "make_buffer") frame.function = "luaV_execute";
  }
  const PageData data = page_of_all(recording);
  EXPECT_EQ(data.frames.flags[frame_of(data, "luaV_execute")], kPlumbing | kDispatch);
}

/// The function that a page's finding names, and the path to the node that it gives.
TEST(Page, OpensWithTheFindingOfTheSummary) {
  const Recording recording = profile::example::small_server();
  const PageData data = page_of_all(recording);
  report::SummaryOptions options;
  options.selection.kind = Kind::kAllocated;
  const report::Finding said = report::summary_report(recording, options).finding;
  EXPECT_EQ(data.opening, profile::name_of(said.kind));
  const PageFinding& found = of(data, said.kind).finding;
  EXPECT_EQ(found.verdict, report::name_of(said.verdict));
  ASSERT_EQ(found.sites.size(), said.sites.size());
  ASSERT_FALSE(found.sites.empty());
  for (std::size_t i = 0; i < found.sites.size(); ++i) {
    const PageSite& site = found.sites[i];
    EXPECT_EQ(data.names[static_cast<std::size_t>(site.function)], said.sites[i].function);
    EXPECT_DOUBLE_EQ(site.share, said.sites[i].share.value);
    bool is_above = false;
    for (std::size_t node = site.node; node != 0; node -= data.nodes.up[node]) {
      is_above |= data.frames.name[data.nodes.frame[node]] == site.function;
    }
    EXPECT_TRUE(is_above) << said.sites[i].function;
  }
}

/// What `geiger leaks` counts and names: suspects, and sites that are undecided for a reason.
TEST(Page, HasTheVerdictsOfLeaks) {
  profile::example::RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  for (const char* name : {"leak", "few"}) {
    const bool leaks = std::string_view(name) == "leak";
    const auto stack = builder.stack({builder.location(module, leaks ? 2 : 3, {name})});
    const int samples = leaks ? 200 : 5;
    for (int i = 0; i < samples; ++i) builder.sample(thread, stack, 1000, 700 + 2000 / samples * i);
  }
  const auto data = page_of_all(builder.recording());
  const report::LeaksReport said = report::leaks_report(builder.recording(), {});
  ASSERT_TRUE(data.leaks);
  EXPECT_EQ(data.leaks->suspects, 1U);
  EXPECT_EQ(data.leaks->undecided, 1U);
  EXPECT_EQ(data.leaks->tested, said.tested);
  ASSERT_EQ(data.leaks->sites.size(), said.lines.size());
  EXPECT_EQ(data.leaks->sites[1].verdict, "undecided");
  EXPECT_EQ(data.leaks->sites[1].open, "samples");
  EXPECT_EQ(data.leaks->sites[1].kept, said.lines[1].site.kept);
}

TEST(Page, NamesAProgramAsItWasStarted) {
  Recording recording = profile::example::small_server();
  profile::Process& process = recording.processes[0];
  process.pid = 1;
  process.executable = recording.modules[0].path;
  process.started_as = process.executable.substr(process.executable.size() - 3);
  // The file's name ends in it too.
  const std::string named = "\"" + process.started_as + "\"";
  EXPECT_THAT(page_data(recording, {}), testing::HasSubstr(named));
}

TEST(Page, TheSameRecordingGivesTheSameBytes) {
  const Recording recording = profile::example::small_server();
  const std::string document = page_data(recording, {});
  EXPECT_EQ(document, page_data(recording, {}));
  EXPECT_EQ(with_data("<p id=\"data\"></script>", document),
            with_data("<p id=\"data\"></script>", document));
}

TEST(Bound, TwoHundredThousandNodesFitWhole) {
  const Recording recording = large_recording({.stacks = 40'000, .nodes = 201'000});
  const PageData data = page_of_all(recording);
  EXPECT_GE(data.nodes.up.size(), 200'000U);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  const std::string document = to_json(data);
  const auto page = with_data("id=\"data\"></script>", document);
  ASSERT_TRUE(page);
  EXPECT_LE(page->size(), 4U * 1024 * 1024 - 512 * 1024);
  EXPECT_THAT(data.left_out, IsEmpty());
}

TEST(Bound, AMillionSamplesFit) {
  const Recording recording =
      large_recording({.stacks = 100'000, .nodes = 400'000, .samples_per_stack = 10});
  ASSERT_GE(recording.samples.size(), 1'000'000U);
  const PageData data = page_of_all(recording);
  for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  EXPECT_THAT(data.left_out, Contains(HasSubstr("[smaller ones]")));
  const auto page = with_data("id=\"data\"></script>", to_json(data));
  EXPECT_LE(page->size(), 4U * 1024 * 1024 - 512 * 1024);
}

TEST(Bound, EveryStepKeepsTheSumsOfTheWhole) {
  const Recording recording = large_recording({.stacks = 400, .nodes = 2000});
  for (std::size_t most = 60'000; most > 1000; most /= 2) {
    const PageData data = page_of_all(recording, most);
    for (const PageProfile& page : data.profiles) expect_arrives(data, page);
  }
  const PageData least = page_of_all(recording, 1);
  EXPECT_LE(least.nodes.up.size(), 2 * kSteps.back().nodes);
  EXPECT_EQ(least.timeline->edges.size(), 2U);
  EXPECT_FALSE(least.cells.front().has_threads);
}

TEST(Bound, LongNamesAreCutAndThatIsSaid) {
  profile::TestRecording test;
  const std::string longest = std::string(1'000'000, 'x') + "\u00e9";
  test.sample(test.stack({test.location({longest})}), 100);
  test.recording.modules[0].path = std::string(2000, 'm');
  test.recording.processes[0].executable = longest;
  const PageData data = page_of_all(test.recording);
  for (const std::string& name : data.names) EXPECT_LT(name.size(), 1100U);
  EXPECT_LT(data.title.size(), 1100U);
  EXPECT_THAT(data.left_out, Contains("2 names truncated to 1,000 bytes"));
  EXPECT_LT(to_json(data).size(), 30'000U);
}

TEST(Hostile, NamesStayStringsAndCannotEndTheElement) {
  for (const std::string& name : hostile_names()) {
    profile::TestRecording test;
    const auto stack = test.stack({test.location({name}), test.location({"main"})});
    test.recording.modules[0].path = name;
    test.recording.processes[0].executable = name;
    test.recording.processes[0].end = 5000;
    test.recording.threads.push_back({.name = name});
    test.recording.labels.push_back({.text = name});
    test.recording.types.push_back({name});
    test.recording.marks.push_back({.time = 2500, .name = name});
    test.recording.warnings.push_back(name);
    profile::Sample& sample = test.sample(stack, 100);
    sample.thread = sample.label = sample.type = 0;
    const std::string document = page_data(test.recording, {});
    const json parsed = json::parse(document);  // Strict: valid UTF-8 too.
    const auto html = with_data("<script id=\"data\"></script>", document);
    ASSERT_TRUE(html);
    EXPECT_EQ(html->find('<', 1), html->rfind("</script>")) << name;
    EXPECT_THAT(*html, Not(HasSubstr("\x1b")));
    EXPECT_EQ(parsed["timeline"]["marks"].size(), 1U);
  }
}

TEST(Html, TheTemplateHasOnePlace) {
  EXPECT_FALSE(with_data("", "{}"));
  EXPECT_FALSE(with_data("<script id=\"data\">old</script>", "{}"));
  EXPECT_FALSE(with_data("id=\"data\"></script> id=\"data\"></script>", "{}"));
  const auto html = with_data("<a id=\"data\"></script><b>", "{}");
  ASSERT_TRUE(html);
  EXPECT_THAT(*html, ::testing::StartsWith("<a id=\"data\">H4sI"));
  EXPECT_THAT(*html, ::testing::EndsWith("</script><b>"));
}

TEST(Html, Base64ComesInFours) {
  std::set<std::size_t> paddings;
  for (std::size_t size = 0; size < 40; ++size) {
    std::string document;
    for (std::size_t i = 0; i < size; ++i) document += static_cast<char>('a' + i * i % 26);
    std::string html = with_data("id=\"data\"></script>", document).value();
    const std::size_t start = html.find('>') + 1;
    html = html.substr(start, html.find('<') - start);
    EXPECT_EQ(html.size() % 4, 0U);
    paddings.insert(html.size() - 1 - html.find_last_not_of('='));
  }
  EXPECT_THAT(paddings, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace geiger::page
