#include "analysis/report/lives/lifetimes.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/profile/testing/example_recording.h"
#include "analysis/report/lives/leaks.h"

namespace geiger::report {
namespace {

using profile::LifetimeGrouping;
using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;
using ::testing::Not;

LifetimesReport report_of(const Recording& recording, const LifetimesOptions& options = {}) {
  return lifetimes_report(recording, options);
}

// Of the 240 buffers 180 live 390 ms, 60 until the end; strings 1 ms; the table to the end.
TEST(LifetimesReport, HasTheFiguresOfEachGroup) {
  const LifetimesReport report = report_of(small_server());
  ASSERT_EQ(report.lines.size(), 3U);
  const LifetimeLine& buffers = report.lines[0];
  EXPECT_EQ(buffers.name, "make_buffer");
  EXPECT_EQ(buffers.freed_samples, 180U);
  EXPECT_EQ(buffers.bytes.quantiles[kMedian].value, 390e6);
  EXPECT_EQ(buffers.bytes.quantiles[kMedian].lo, 390e6);
  EXPECT_EQ(buffers.bytes.quantiles[kMedian].hi, 390e6);
  EXPECT_FALSE(buffers.bytes.quantiles[kNinety].value) << "a quarter is alive at the end";
  EXPECT_NEAR(buffers.never_freed.value, 0.25, 1e-9);
  EXPECT_EQ(buffers.bytes.temporary.value, 0);
  EXPECT_GT(buffers.bytes.temporary.interval.hi, 0) << "few may have been missed";
  const LifetimeLine& table = report.lines[1];
  EXPECT_EQ(table.name, "load_table");
  EXPECT_EQ(table.never_freed.value, 1);
  EXPECT_FALSE(table.bytes.quantiles[0].value);
  const LifetimeLine& strings = report.lines[2];
  EXPECT_EQ(strings.bytes.temporary.value, 1) << "a life of 1 ms is within 1 ms";
}

TEST(LifetimesReport, ReadsLikeThis) {
  LifetimesOptions options;
  options.by = LifetimeGrouping::kFunction;
  const std::string text = to_text(report_of(small_server(), options), {});
  EXPECT_THAT(text, HasSubstr("Lifetimes, by function: "));
  EXPECT_THAT(text, HasSubstr("50 % after"));
  EXPECT_THAT(text, HasSubstr("within 1 ms"));
  EXPECT_THAT(text, HasSubstr("  390 ms  "));
  EXPECT_THAT(text, HasSubstr("> 2.49 s [2.48 s, …]"));
  EXPECT_THAT(text, HasSubstr("make_buffer"));
  EXPECT_THAT(text, HasSubstr("share of the bytes alive"));
  EXPECT_THAT(text, Not(HasSubstr("Where objects are freed")));
}

TEST(LifetimesReport, SaysWhatIsBiased) {
  LifetimesOptions options;
  options.selection.observed_only = true;
  const LifetimesReport report = report_of(small_server(), options);
  EXPECT_EQ(report.whole.allocated.samples, 192U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("over-represented"));
}

TEST(LifetimesReport, SaysWhatIsMissing) {
  Recording recording = small_server();
  recording.samples[3].free_unseen = true;
  recording.processes[0].drops[2] = 5;
  const LifetimesReport report = report_of(recording);
  EXPECT_EQ(report.unseen_frees, 1U);
  EXPECT_EQ(report.dropped_frees, 5U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("5 frees could not be recorded"));
}

TEST(LifetimesReport, NamesWhoFrees) {
  Recording recording = small_server();
  for (profile::Sample& sample : recording.samples) {
    if (sample.free_time == 0) continue;
    sample.free_stack = sample.stack;
    sample.free_thread = sample.requested < 1000 ? 1 - sample.thread : sample.thread;
  }
  const LifetimesReport report = report_of(recording);
  ASSERT_EQ(report.freed_at.size(), 2U);
  EXPECT_EQ(report.freed_at[0].name, "make_buffer");
  ASSERT_TRUE(report.lines[2].other_thread);
  EXPECT_EQ(report.lines[2].other_thread->value, 1);
  EXPECT_EQ(report.lines[0].other_thread->value, 0);
  EXPECT_FALSE(report.lines[1].other_thread) << "nothing of it was freed";
}

TEST(LifetimesReport, IsValidJson) {
  const Recording recording = small_server();
  LifetimesOptions options;
  options.by = LifetimeGrouping::kStack;
  const auto json = nlohmann::json::parse(to_json(report_of(recording, options), recording));
  EXPECT_EQ(json["report"], "lifetimes");
  EXPECT_EQ(json["groups"][0]["over_bytes"]["quantiles"][1]["value_ns"], 390e6);
  EXPECT_FALSE(json["groups"][0]["over_bytes"]["quantiles"][4].contains("value_ns"));
  EXPECT_EQ(json["groups"][0]["over_bytes"]["step_count"], 1);
  EXPECT_EQ(json["groups"][0]["stack"][0]["function"], "make_buffer");
}

TEST(LifetimesReport, OfNothingSaysSo) {
  for (const Recording& recording : {Recording{}, RecordingBuilder().recording()}) {
    const LifetimesReport report = report_of(recording);
    EXPECT_THAT(to_text(report, {}), HasSubstr("No samples among them."));
    EXPECT_EQ(nlohmann::json::parse(to_json(report, recording))["group_count"], 0);
    EXPECT_THAT(to_svg(report), HasSubstr("</svg>"));
  }
}

TEST(LengthFigure, LeavesOpenWhatIsNotKnown) {
  using Quantile = estimation::SurvivalCurve::Quantile;
  EXPECT_EQ(length_figure(Quantile{2e6, 1e6, 3e6}, 9e9).text(), "2 ms [1 ms, 3 ms]");
  EXPECT_EQ(length_figure(Quantile{2e6, 1e6, {}}, 9e9).text(), "2 ms [1 ms, …]");
  EXPECT_EQ(length_figure(Quantile{{}, 1e6, {}}, 9e9).text(), "> 9.00 s [1 ms, …]");
  EXPECT_EQ(length_figure(Quantile{{}, 9e9, {}}, 9e9).text(), "> 9.00 s");
  EXPECT_EQ(length_figure(Quantile{5e2, 5e2, 5e2}, 9e9).text(), "500 ns");
  EXPECT_EQ(length_figure(Quantile{}, 0).text(), "-");
  EXPECT_EQ(length_figure(Quantile{}, 9e9).text(), "> 9.00 s") << "exact, and not reached";
}

/// A site that keeps all of 200 buffers, evenly over two seconds, beside the server's.
Recording leaking_server() {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto main = builder.location(module, 1, {"main"});
  const auto leak = builder.stack({builder.location(module, 2, {"leak"}), main});
  const auto table = builder.stack({builder.location(module, 3, {"table"}), main});
  for (int i = 0; i < 50; ++i) builder.sample(thread, table, 1000, 1 + i);
  for (int i = 0; i < 200; ++i) builder.sample(thread, leak, 1000, 10 * i);
  return builder.recording();
}

/// What a program sets up before it waits is not growth; what it allocates under load is, also if
/// it was not ended at once.
TEST(LeaksReport, CountsLongPausesBeforeTheEnd) {
  Recording recording = leaking_server();
  recording.processes[0].end = recording.processes[0].start + 3'500'000'000;
  const LeaksReport loaded = leaks_report(recording, {});
  EXPECT_EQ(loaded.suspects, 1U);
  EXPECT_THAT(to_text(loaded, {.width = 1000}), HasSubstr("(growth up to the last sample, at 1."));
  recording.processes[0].end = recording.processes[0].start + 20'000'000'000;
  const LeaksReport report = leaks_report(recording, {});
  EXPECT_EQ(report.suspects, 0U);
  EXPECT_THAT(to_text(report, {.width = 1000}), HasSubstr("stopped growing at 1."));
}

TEST(LeaksReport, AccusesNothingThatMayBeTurnover) {
  Recording recording = leaking_server();
  recording.processes[0].is_attached = true;
  profile::Observations observed;
  observed.walk_fault = "a reason";
  recording.observations = {observed};
  LeaksReport report = leaks_report(recording, {});
  EXPECT_EQ(report.suspects, 0U);
  EXPECT_EQ(report.finding(), LeakFinding::kUndecided);
  EXPECT_THAT(sentence(report), HasSubstr("leak (main.cc:2) kept "));
  EXPECT_THAT(to_text(report, {}), HasSubstr("a reason"));
  auto json = nlohmann::json::parse(to_json(report, recording));
  EXPECT_EQ(json["sites"][0]["open"], "unmeasured");
  EXPECT_TRUE(json["sites"][0]["growth"]["lo"].is_null());
  for (std::uint64_t i = 0; i <= 40; ++i) {
    observed.walks.push_back({recording.samples[0].time + i * 50'000'000, {{1008, 4000}}});
  }
  for (profile::Sample& sample : recording.samples) sample.usable = 1000;
  recording.observations = {observed};
  report = leaks_report(recording, {});
  EXPECT_THAT(sentence(report), HasSubstr("blocks of 1,008 bytes in use stayed 4,000"));
  EXPECT_THAT(to_text(report, {}), HasSubstr("that would probably have been found"));
  json = nlohmann::json::parse(to_json(report, recording));
  EXPECT_EQ(json["sites"][0]["open"], "turnover");
}

/// A table that grows beside its entries keeps these from nothing.
TEST(LeaksReport, JudgesBlocksInUseWithoutObjectsOfTheirOwnMappings) {
  Recording recording = leaking_server();
  recording.processes[0].is_attached = true;
  profile::Observations observed;
  for (std::uint64_t i = 0; i <= 40; ++i) {
    observed.walks.push_back(
        {recording.samples[0].time + i * 50'000'000, {{1008, 4000 + 2700 * i + 20 * (i % 3)}}});
  }
  recording.observations = {observed};
  for (profile::Sample& sample : recording.samples) sample.usable = 1000;
  EXPECT_EQ(leaks_report(recording, {}).suspects, 1U);
  const std::size_t all = recording.samples.size();
  recording.samples[all - 1].usable = 200'704 - 16;
  EXPECT_EQ(leaks_report(recording, {}).suspects, 1U);
  for (std::size_t i = 100; i < all; ++i) recording.samples[i].usable = 200'704 - 16;
  EXPECT_EQ(leaks_report(recording, {}).suspects, 0U);
}

/// Two sites of two sizes each: which of them grows is not known, and is said once.
TEST(LeaksReport, SaysOnceWhichSitesMayHaveTheChunksThatGrow) {
  Recording recording = leaking_server();
  recording.processes[0].is_attached = true;
  const std::uint32_t other = recording.samples[0].stack;
  std::uint64_t i = 0;
  for (profile::Sample& sample : recording.samples) {
    sample.usable = i % 2 == 0 ? 1000 : 504;
    if (i++ % 4 < 2) sample.stack = other;
  }
  profile::Observations observed;
  for (std::uint64_t walk = 0; walk <= 40; ++walk) {
    const std::uint64_t more = 750 * walk + 20 * (walk % 3);
    observed.walks.push_back({recording.samples[0].time + walk * 50'000'000,
                              {{512, 4'000'000 + more}, {1008, 4'000'000 + more}}});
  }
  recording.observations = {observed};
  const LeaksReport report = leaks_report(recording, {});
  ASSERT_EQ(report.growing.size(), 2U);
  EXPECT_EQ(report.suspects, 0U);
  const std::string text = to_text(report, {.width = 1000});
  EXPECT_THAT(text, HasSubstr("Undecided: blocks in use of 2 sizes grew, by "));
  EXPECT_THAT(text, HasSubstr("(of 1,008 bytes), "));
  EXPECT_THAT(text, HasSubstr("at one or more of these sites: "));
  EXPECT_THAT(text, Not(HasSubstr("no site with samples")));
  EXPECT_EQ(text.find("longer run"), text.rfind("longer run"));
}

/// What holds the samples of `recording`: some of its own, and the others a variable.
void hold(Recording& recording, profile::Hold hold, std::uint32_t from, std::uint32_t to) {
  profile::Observations observations;
  observations.holders.emplace();
  observations.holders->roots = {"g_table"};
  observations.holders->paths = {{}};
  for (std::uint32_t i = 0; i < recording.samples.size(); ++i) {
    const bool is_in = i >= from && i < to;
    observations.holders->samples.push_back(
        {i, is_in ? hold : profile::Hold::kReached, false, 0, 0});
  }
  recording.observations = {observations};
  recording.holders.clear();
  name_holders(recording);
}

/// Eight sites lost two samples each; the text names five.
TEST(LeaksReport, SumsUpWhatSmallSitesLost) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const auto site = builder.stack({builder.location(module, i, {"lose" + std::to_string(i)})});
    for (int k = 0; k < 2; ++k) builder.sample(thread, site, 1000, 10 * i + k);
  }
  Recording& recording = builder.recording();
  hold(recording, profile::Hold::kUnreferenced, 0, 16);
  LeaksReport report = leaks_report(recording, {});
  EXPECT_EQ(report.unreachable.size(), 8U);
  EXPECT_EQ(report.unreachable_rest.sites, 3U);
  EXPECT_EQ(report.unreachable_rest.live.samples, 6U);
  EXPECT_THAT(to_text(report, {.width = 1000}), HasSubstr("] of 3 other sites is unreachable too"));
  EXPECT_EQ(nlohmann::json::parse(to_json(report, recording))["unreachable_rest"]["samples"], 6);
  hold(recording, profile::Hold::kUnreferenced, 0, 10);
  report = leaks_report(recording, {});
  EXPECT_EQ(report.unreachable_rest.sites, 0U);
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("unreachable too")));
}

TEST(LeaksReport, SaysWhoCanFreeWhatOnlyTheCollectorLists) {
  Recording recording = leaking_server();
  hold(recording, profile::Hold::kListed, 50, 250);
  EXPECT_THAT(to_text(leaks_report(recording, {}), {}), HasSubstr("call gc.collect()"));
  hold(recording, profile::Hold::kListed, 0, 50);
  const std::string text = to_text(leaks_report(recording, {}), {.width = 1000});
  EXPECT_THAT(text, HasSubstr(" is garbage: only CPython's collector can free them"));
  hold(recording, profile::Hold::kMoving, 0, 250);
  EXPECT_THAT(to_text(leaks_report(recording, {}), {}), Not(HasSubstr("gc.collect()")));
}

/// The same, but only the table of `tables` buffers stays: all others are freed at once.
Recording healthy_server(std::size_t tables = 50) {
  Recording recording = leaking_server();
  std::size_t kept = 0;
  for (profile::Sample& sample : recording.samples) {
    const bool is_table = sample.stack == recording.samples[0].stack;
    if (!is_table || kept++ >= tables) sample.free_time = sample.time + 1;
  }
  return recording;
}

TEST(LeaksReport, IsClearWhereALeakWouldBeNoticed) {
  const LeaksReport report = leaks_report(healthy_server(), {});
  EXPECT_EQ(report.finding(), LeakFinding::kClear);
  EXPECT_LE(report.may_have_leaked, 0.5 * report.live.bytes.value);
  EXPECT_THAT(sentence(report), HasSubstr("No leak suspects"));
}

TEST(LeaksReport, IsUndecidedWhereALeakWouldNotBeNoticed) {
  for (const std::size_t tables : {0U, 3U}) {
    const LeaksReport report = leaks_report(healthy_server(tables), {});
    EXPECT_GT(report.tested, 0U);
    EXPECT_EQ(report.finding(), LeakFinding::kUndecided) << tables;
    EXPECT_THAT(sentence(report), HasSubstr("a leak of up to 1.85 MiB could have been missed"));
    present::Style wide;
    wide.width = 400;
    EXPECT_THAT(to_text(report, wide), HasSubstr("Too few samples to rule out a leak of up to "));
  }
}

// One large buffer in place of a smaller one, again and again: 6 MiB ± 73 a second.
TEST(LeaksReport, GrowthThatMayBeNoneHasAnUpperLimitOnly) {
  LeaksReport report = leaks_report(leaking_server(), {});
  report.suspects = 0;
  report.undecided = 1;
  report.lines[0].site.verdict = profile::LeakVerdict::kUndecided;
  report.lines[0].rate = {6.0 * (1 << 20), {-67.0 * (1 << 20), 79.0 * (1 << 20)}};
  EXPECT_EQ(sentence(report),
            "Undecided: leak (main.cc:2) may have grown, by up to 79.0 MiB a second.");
}

TEST(LeaksReport, RecursionIsOneSite) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto main = builder.location(module, 1, {"main"});
  const auto parse = builder.location(module, 2, {"parse"});
  const auto nested = builder.location(module, 3, {"nested"});
  const auto leaf = builder.location(module, 4, {"leaf"});
  const std::uint32_t stacks[] = {
      builder.stack({leaf, parse, main}), builder.stack({leaf, parse, parse, main}),
      builder.stack({leaf, parse, nested, parse, parse, nested, parse, main}),
      builder.stack({leaf, nested, parse, main})};
  for (int i = 0; i < 300; ++i) builder.sample(thread, stacks[i % 3], 1000, 10 * i);
  EXPECT_EQ(leaks_report(builder.recording(), {}).suspects, 1U);
  for (int i = 0; i < 100; ++i) builder.sample(thread, stacks[3], 1000, 3000 + 10 * i);
  LeaksOptions options;
  options.shows_all = true;
  EXPECT_EQ(leaks_report(builder.recording(), options).lines.size(), 2U)
      << "another caller of leaf";
}

TEST(LeaksReport, ShowsTheEvidence) {
  const Recording recording = leaking_server();
  const LeaksReport report = leaks_report(recording, {});
  EXPECT_EQ(report.suspects, 1U);
  EXPECT_EQ(report.clear, 1U);
  ASSERT_EQ(report.lines.size(), 1U);
  EXPECT_EQ(report.lines[0].never_freed.value, 1);
  EXPECT_GT(report.lines[0].rate.interval.lo, 0);
  const std::string text = to_text(report, {.width = 1000});
  EXPECT_THAT(text, HasSubstr("1 of 2 sites suspect"));
  EXPECT_THAT(text, HasSubstr("1  leak (main.cc:2)  main"));
  EXPECT_THAT(text, HasSubstr("leak (main.cc:2) kept 100 MiB"));
  EXPECT_THAT(text, HasSubstr("growing by 50.3 MiB"));
  EXPECT_THAT(text, HasSubstr(" a second since "));
  EXPECT_THAT(text, HasSubstr("its live bytes grow, p"));
  EXPECT_THAT(text, HasSubstr("Not suspect: table (main.cc:3) with 25.0 MiB"));
  EXPECT_THAT(text, HasSubstr("growing at 48 ms."));
}

/// Two calls of leak(), on lines 11 and 12 of main, and one on line 13 with few samples.
Recording leaking_twice() {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto leak = builder.location(module, 2, {"leak"});
  for (const int line : {11, 12, 13}) {
    const auto main = builder.location(module, static_cast<Address>(line), {"main"});
    const auto stack = builder.stack({leak, main});
    for (int i = 0; i < (line < 13 ? 200 : 5); ++i)
      builder.sample(thread, stack, 1000, 700 + (line < 13 ? 10 : 150) * i);
  }
  return builder.recording();
}

TEST(LeaksReport, TellsSuspectsOfOneLineApart) {
  present::Style wide;
  wide.width = 400;
  const std::string text = to_text(leaks_report(leaking_twice(), {}), wide);
  EXPECT_THAT(text, HasSubstr("leak (main.cc:2) via main (main.cc:11): 100 MiB"));
  EXPECT_THAT(text, HasSubstr("leak (main.cc:2) via main (main.cc:12): 100 MiB"));
  EXPECT_THAT(to_text(leaks_report(leaking_server(), {}), {}),
              HasSubstr("path      main › leak\n"));
}

// One leak in ten stacks is one finding, of which the sites are parts.
TEST(LeaksReport, NamesTheOwnerOfManySites) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto main = builder.location(module, 1, {"main"});
  const auto get = builder.location(module, 26, {"Cache::get"});
  for (int site = 0; site < 10; ++site) {
    const auto leaf = builder.location(module, static_cast<Address>(30 + site), {"fill"});
    const auto stack = builder.stack(site % 2 == 0 ? std::vector{leaf, get, main}
                                                   : std::vector{leaf, get, get, main});
    for (int i = 0; i < 40; ++i) builder.sample(thread, stack, 1000, 50 * i + site);
  }
  const Recording recording = builder.recording();
  const LeaksReport report = leaks_report(recording, {});
  ASSERT_EQ(report.owners.size(), 1U);
  EXPECT_THAT(sentence(report), HasSubstr("fill (main.cc:30-39) kept 200 MiB"));
  EXPECT_THAT(sentence(report), HasSubstr(", in 10 sites; false-alarm rate "));
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, HasSubstr("1  fill (main.cc:30-39)\n"));
  EXPECT_THAT(text, HasSubstr("fill (main.cc:39): 20.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("2  ")));
  const auto json = nlohmann::json::parse(to_json(report, recording));
  EXPECT_EQ(json["owners"][0]["growing_site_count"], 10);
  EXPECT_EQ(json["sites"][9]["owner"], 0);
  LeaksOptions options;
  options.search.by = LifetimeGrouping::kFunction;
  EXPECT_TRUE(leaks_report(recording, options).owners.empty());
}

/// Four samples are too few to accuse a site, those of ten sites are not.
TEST(LeaksReport, SitesOfAnOwnerAreSuspects) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto main = builder.location(module, 1, {"main"});
  const auto get = builder.location(module, 26, {"Cache::get"});
  for (Address site = 0; site < 10; ++site) {
    const auto caller = builder.location(module, 50 + site, {site % 2 == 0 ? "even" : "odd"});
    const auto stack = builder.stack({get, caller, main});
    for (Nanoseconds i = 0; i < 4; ++i) builder.sample(thread, stack, 1000, 500 * i + 50 * site);
  }
  const Recording recording = builder.recording();
  const LeaksReport report = leaks_report(recording, {});
  ASSERT_EQ(report.owners.size(), 1U);
  EXPECT_EQ(report.suspects, report.owners[0].accused);
  EXPECT_EQ(report.undecided, 0U);
  EXPECT_EQ(report.finding(), LeakFinding::kSuspects);
  EXPECT_THAT(judged_heap(report), HasSubstr(counts_text(report)));
  EXPECT_EQ(counts_text(report), "10 of 10 sites suspect");
  EXPECT_EQ(nlohmann::json::parse(to_json(report, recording))["suspects"], 10);
  EXPECT_THAT(to_text(report, {}), HasSubstr("Cache::get (main.cc:26) via even: "));
}

/// A rate is not extrapolated from the milliseconds of one of many processes.
TEST(LeaksReport, JudgesNoSiteOfAProcessThatLivedTooShort) {
  for (const Nanoseconds samples : {2, 5}) {
    RecordingBuilder builder;
    const auto module = builder.module("/usr/bin/server", 0x400000);
    const auto stack = builder.stack({builder.location(module, 2, {"leak"})});
    const auto brief = builder.stack({builder.location(module, 3, {"brief"})});
    const auto server = builder.thread(builder.process("/usr/bin/server", 1), "server", 1);
    const auto child = builder.thread(builder.process("/usr/bin/server", 2), "child", 2);
    for (Nanoseconds i = 0; i < 200; ++i) builder.sample(server, stack, 1000, 10 * i);
    for (Nanoseconds i = 0; i < samples; ++i) builder.sample(child, brief, 1000, 1 + i);
    LeaksOptions options;
    options.shows_all = true;
    Recording recording = builder.recording();
    recording.processes[1].end = recording.processes[1].start + 6'000'000;
    const LeaksReport report = leaks_report(recording, options);
    const std::string text = to_text(report, {});
    const auto json = nlohmann::json::parse(to_json(report, recording));
    EXPECT_EQ(report.clear, 0U);
    EXPECT_THAT(text, Not(HasSubstr("GiB")));
    if (samples == 2) {
      EXPECT_EQ(report.not_judged, 1U);
      EXPECT_THAT(text, HasSubstr("; not judged: seen for only 5 ms"));
      EXPECT_EQ(json["sites"][1]["verdict"], "not_judged");
    } else {
      EXPECT_EQ(report.undecided, 1U) << "as much may matter";
      EXPECT_THAT(text, HasSubstr("; undecided: has 4, needs 6 samples"));
      EXPECT_EQ(json["sites"][1]["verdict"], "undecided");
    }
  }
}

TEST(LeaksReport, SaysThatAnUndecidedSiteIsOfTheLineOfASuspect) {
  const LeaksReport report = leaks_report(leaking_twice(), {});
  EXPECT_EQ(report.undecided, 1U);
  present::Style wide;
  wide.width = 400;
  EXPECT_THAT(to_text(report, wide),
              HasSubstr("leak (main.cc:2) (called from elsewhere than the suspect)"));
}

TEST(LeaksReport, ListsAllOnlyWhenAsked) {
  const Recording recording = leaking_server();
  LeaksOptions options;
  options.shows_all = true;
  const LeaksReport report = leaks_report(recording, options);
  EXPECT_EQ(report.lines.size(), 2U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("table (main.cc:3)  main"));
  EXPECT_THAT(to_text(report, {}), HasSubstr("clear: stopped growing at 48 ms, at"));
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("Not suspect: ")));
  options.top = 1;
  EXPECT_THAT(to_text(leaks_report(healthy_server(), options), {}), HasSubstr("Other sites"));
  EXPECT_EQ(leaks_report(recording, options).lines.size(), 1U);
}

TEST(LeaksReport, JudgesTheHeapBeforeTheProgramTidiedUp) {
  Recording recording = leaking_server();
  const Nanoseconds last = recording.samples.back().time;
  Nanoseconds freed = last + 1'000'000;
  for (profile::Sample& sample : recording.samples) sample.free_time = freed++;
  recording.processes[0].end = last + 10'000'000;
  const LeaksReport report = leaks_report(recording, {});
  EXPECT_EQ(report.judged.why, JudgedInstant::Why::kBeforeTeardown);
  EXPECT_EQ(report.judged.before_end, 9'000'000U);
  EXPECT_EQ(report.finding(), LeakFinding::kSuspects);
  EXPECT_EQ(report.live.samples, 250U);
  EXPECT_EQ(report.live_at_end.samples, 0U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("freed most of its heap in its last 9 ms"));
  LeaksOptions options;
  options.until = {.time = recording.processes[0].end, .text = "the end", .is_end = true};
  const LeaksReport at_end = leaks_report(recording, options);
  EXPECT_EQ(at_end.finding(), LeakFinding::kUndecided);
  EXPECT_EQ(at_end.judged.freed_from, report.judged.after_start);
  EXPECT_EQ(at_end.live.samples, 0U);
  EXPECT_THAT(to_text(at_end, {}), HasSubstr("--until cleanup judges the heap before that"));
  options.until = {.time = last, .text = "earlier"};
  EXPECT_FALSE(leaks_report(recording, options).judged.freed_from.has_value());
}

TEST(LeaksReport, SlowFinalFreesLeaveItUndecided) {
  Recording recording = leaking_server();
  Nanoseconds freed = recording.samples.back().time;
  for (profile::Sample& sample : recording.samples) sample.free_time = freed += 4'000'000;
  recording.processes[0].end = freed;
  const LeaksReport report = leaks_report(recording, {});
  EXPECT_TRUE(report.judged.freed_from.has_value());
  EXPECT_EQ(report.finding(), LeakFinding::kUndecided);
  EXPECT_THAT(to_text(report, {}), HasSubstr("--until cleanup judges the heap before that"));
}

TEST(LeaksReport, MissingSamplesLeaveItUndecided) {
  Recording recording = healthy_server();
  EXPECT_EQ(leaks_report(recording, {}).finding(), LeakFinding::kClear);
  const auto drop = [&](vocabulary::DropCause cause) {
    recording.processes[0].drops[static_cast<std::size_t>(cause)] = 3;
    return leaks_report(recording, {});
  };
  EXPECT_EQ(drop(vocabulary::DropCause::kUnseenFree).finding(), LeakFinding::kClear)
      << "a missing free makes a suspect rather than hiding one";
  const LeaksReport report = drop(vocabulary::DropCause::kTraceFull);
  EXPECT_EQ(report.finding(), LeakFinding::kUndecided);
  EXPECT_THAT(to_text(report, {}),
              HasSubstr("Undecided: samples are missing (3 samples were dropped)"));
  const auto json = nlohmann::json::parse(to_json(report, recording));
  EXPECT_EQ(json["missing"], "3 samples were dropped");
}

TEST(LeaksReport, SamplesAfterTheJudgedInstantAreNotMissing) {
  Recording recording = leaking_server();
  for (profile::Sample& sample : recording.samples) sample.free_time = sample.time + 1;
  recording.threads[0].hits = recording.samples.size();
  LeaksOptions options;
  options.until = {.time = recording.processes[0].start + 50, .text = "an early time"};
  EXPECT_EQ(leaks_report(recording, options).missing, "");
  recording.threads[0].hits *= 2;
  EXPECT_NE(leaks_report(recording, options).missing, "");
}

TEST(LeaksReport, ADeletedBeginningHidesNoGrowth) {
  Recording recording = healthy_server();
  recording.processes[0].segments = {{.number = 3}, {.number = 4}};
  EXPECT_EQ(leaks_report(recording, {}).finding(), LeakFinding::kClear);
  recording.processes[0].segments[1].number = 5;
  EXPECT_EQ(leaks_report(recording, {}).finding(), LeakFinding::kUndecided);
}

TEST(LeaksReport, ManySmallSitesThatGrowTogetherAreUndecided) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto one = builder.stack({builder.location(module, i + 1, {"leak"})});
    builder.sample(thread, one, 1000, 10 * i);
  }
  const LeaksReport report = leaks_report(builder.recording(), {});
  EXPECT_EQ(report.suspects + report.undecided, 0U) << "each is half a per cent";
  EXPECT_TRUE(report.small.has_value());
  EXPECT_EQ(report.finding(), LeakFinding::kUndecided);
  EXPECT_THAT(to_text(report, {}), HasSubstr("samples each grew by"));
  LeaksOptions options;
  options.search.by = profile::LifetimeGrouping::kFunction;
  EXPECT_EQ(leaks_report(builder.recording(), options).finding(), LeakFinding::kSuspects);
}

TEST(LeaksReport, IsValidJson) {
  const Recording recording = leaking_server();
  const auto json = nlohmann::json::parse(to_json(leaks_report(recording, {}), recording));
  EXPECT_EQ(json["report"], "leaks");
  EXPECT_EQ(json["sites"][0]["verdict"], "suspect");
  EXPECT_LE(json["sites"][0]["q_value"], 0.05);
  EXPECT_EQ(json["sites"][0]["stack"][0]["function"], "leak");
  EXPECT_TRUE(json["suppressed"].empty());
}

TEST(LeaksReport, WhatIsSuppressedIsNotSaidToBeLive) {
  const Recording recording = leaking_server();
  const profile::Suppressions accepted = profile::Suppressions::parse("leak:leak\n").release();
  LeaksOptions options;
  options.search.suppressions = &accepted;
  const LeaksReport report = leaks_report(recording, options);
  ASSERT_EQ(report.suppressed.size(), 1U);
  const double all = leaks_report(recording, {}).live.bytes.value;
  const double suppressed = report.suppressed[0].live.bytes.value;
  EXPECT_GT(suppressed, 0);
  EXPECT_NEAR(report.live.bytes.value, all - suppressed, 1e-6 * all);
}

TEST(LeaksReport, OfNothingIsNothing) {
  const LeaksReport report = leaks_report({}, {});
  EXPECT_EQ(report.suspects + report.undecided + report.clear, 0U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("no site has the 6 samples"));
  EXPECT_EQ(nlohmann::json::parse(to_json(report, {}))["tested"], 0);
}

}  // namespace
}  // namespace geiger::report
