#include "analysis/profile/lives/leaks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::leaks_test {
namespace {

TEST(LeakWindows, CoverTheTimeBehindTheWarmUp) {
  const LeakWindows windows(0.25);
  EXPECT_TRUE(windows.is_warm_up(0.2499));
  EXPECT_FALSE(windows.is_warm_up(0.25));
  EXPECT_EQ(windows.window_of(0.25), 0U);
  EXPECT_EQ(windows.window_of(1), kLeakWindows - 1);
  double sum = 0;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    sum += windows.length_of(i);
    EXPECT_GT(windows.length_of(i), 0.4 * 0.75 / kLeakWindows);
    EXPECT_LT(windows.length_of(i), 1.6 * 0.75 / kLeakWindows);
  }
  EXPECT_NEAR(sum, 0.75, 1e-12);
}

TEST(LeakWindows, PlaceInstantsInTheTimeOfAProcess) {
  const ActiveTime active{1000, 3000};
  EXPECT_EQ(LeakWindows::place(500, active), 0);
  EXPECT_EQ(LeakWindows::place(1500, active), 0.25);
  EXPECT_EQ(LeakWindows::place(9000, active), 1) << "frees behind the last sample";
  EXPECT_EQ(LeakWindows::place(5, {5, 5}), 0) << "no time at all";
}

TEST(LeakWindows, KnowWhatSlowsDown) {
  const LeakWindows windows(0.25);
  std::array<double, kLeakWindows> changes{};
  EXPECT_FALSE(windows.is_lasting(changes));
  for (std::size_t i = 0; i < kLeakWindows; ++i) changes[i] = windows.length_of(i);
  EXPECT_TRUE(windows.is_lasting(changes));
  for (std::size_t i = 8; i < kLeakWindows; ++i) changes[i] *= 0.51;
  EXPECT_TRUE(windows.is_lasting(changes));
  for (std::size_t i = 8; i < kLeakWindows; ++i) changes[i] *= 0.9;
  EXPECT_FALSE(windows.is_lasting(changes));
}

TEST(LeakWindows, KnowWhatSlowsDownBeyondChance) {
  const LeakWindows windows(0.25);
  std::array<std::uint64_t, kLeakWindows> few{}, many{};
  EXPECT_FALSE(windows.is_slowing(few));
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    few[i] = i < 4 ? 3 : 1;
    many[i] = i < 4 ? 30 : 10;
  }
  EXPECT_FALSE(windows.is_slowing(few)) << "12 and 4 where half the speed is about 12 and 6";
  EXPECT_TRUE(windows.is_slowing(many));
}

/// A process of 1,000 ns from 1,000 on.
class LeaksOf : public ::testing::Test {
 protected:
  LeaksOf() : first_(test_.stack({test_.location({"first"})})) {
    test_.recording.processes[0].end = 3000;
    // Brackets of the time: what allocates and frees.
    for (Nanoseconds at = 1000; at <= 2000; at += 10) test_.sample(first_, 64, at, at + 1);
  }

  std::uint32_t site(const char* name) { return test_.stack({test_.location({name})}); }

  [[nodiscard]] Leaks leaks(const LeakOptions& options = {}) const {
    return find_leaks(test_.recording, options);
  }

  TestRecording test_;
  std::uint32_t first_;
};

TEST_F(LeaksOf, AnEvenLeakIsSuspect) {
  const auto leak = site("leak");
  for (Nanoseconds at = 1005; at < 2000; at += 10) test_.sample(leak, 100, at);
  const Leaks found = leaks();
  ASSERT_EQ(found.sites.size(), 1U) << "what freed everything is not looked at";
  const LeakSite& suspect = found.sites.front();
  EXPECT_EQ(suspect.verdict, LeakVerdict::kSuspect);
  EXPECT_EQ(suspect.group.name, "leak");
  EXPECT_EQ(found.tested, 2U) << "but could have been one";
  EXPECT_NEAR(suspect.q_value, 2 * suspect.p_value, 1e-12 * suspect.p_value);
  EXPECT_EQ(suspect.kept, 75U);
  EXPECT_EQ(suspect.since, 75U);
  EXPECT_EQ(suspect.oldest, 3000U - 1255U);
  EXPECT_NEAR(suspect.seconds, 750e-9, 1e-12);
  const double weight = 100 / -std::expm1(std::log1p(-1.0 / 1024) * 100);
  EXPECT_NEAR(suspect.all.bytes, 75 * weight, 1e-6);
  EXPECT_LT(suspect.all.interval.lo, suspect.all.bytes);
  EXPECT_LE(suspect.p_value, suspect.q_value);
}

TEST_F(LeaksOf, BeingAliveIsNoEvidence) {
  const auto table = site("table"), lazy = site("lazy");
  for (Nanoseconds at = 1000; at < 1200; ++at) test_.sample(table, 100, at);
  for (Nanoseconds at = 1500; at < 1510; ++at) {
    for (int i = 0; i < 10; ++i) test_.sample(lazy, 100, at);
  }
  for (const LeakSite& site : leaks().sites) {
    EXPECT_EQ(site.verdict, LeakVerdict::kClear) << site.group.name;
    EXPECT_GT(site.alive.samples, 0U);
  }
}

// One sample in each window is as even as can be, and still only twelve samples.
TEST_F(LeaksOf, EvennessDoesNotMakeUpForSamples) {
  const auto leak = site("leak");
  const LeakWindows windows(0.25);
  double place = 0.25;
  for (std::size_t i = 0; i < kLeakWindows; place += windows.length_of(i++)) {
    test_.sample(leak, 100, 1000 + static_cast<Nanoseconds>(1000 * place) + 20);
  }
  const LeakSite found = leaks().sites.front();
  EXPECT_EQ(found.kept, 12U);
  EXPECT_GE(found.all.p_value, 1e-4) << "about 2^-12";
}

// Nothing is sampled here, so only the program's own ups and downs are left to explain it:
// a sawtooth a little shorter than a window of even lengths would be. Each phase.
TEST_F(LeaksOf, ASawtoothInStepWithTheWindowsIsNone) {
  constexpr Nanoseconds kTime = 16'000, kPeriod = 984;
  for (Nanoseconds phase = 0; phase < kPeriod; phase += 41) {
    TestRecording exact(1);
    exact.recording.processes[0].end = 20'000;
    const auto saw = exact.stack({exact.location({"saw"})});
    for (Nanoseconds at = 0; at < kTime; at += 4) {
      const Nanoseconds emptied = ((at + phase) / kPeriod + 1) * kPeriod - phase;
      exact.sample(saw, 8, 1000 + at, emptied < kTime ? 1000 + emptied : 0);
    }
    for (const LeakSite& site : find_leaks(exact.recording, {}).sites) {
      EXPECT_EQ(site.verdict, LeakVerdict::kClear) << phase;
    }
  }
}

TEST_F(LeaksOf, FewSamplesAreUndecided) {
  const auto leak = site("leak");
  for (Nanoseconds at = 1305; at < 1900; at += 150) test_.sample(leak, 100, at);
  const Leaks found = leaks();
  ASSERT_EQ(found.sites.size(), 1U);
  EXPECT_EQ(found.sites[0].verdict, LeakVerdict::kUndecided);
  EXPECT_FALSE(found.sites[0].is_tested);
  EXPECT_EQ(found.samples_needed, 6U) << "2 / 2^6 is below 0.05, 2 / 2^5 is not";
  EXPECT_EQ(leaks({.q = 0.001}).samples_needed, 11U);
}

// As many windows as not show that it grew, and too few samples whether it slowed down.
TEST_F(LeaksOf, ASlowingThatMayBeChanceIsUndecided) {
  const auto leak = site("leak");
  for (Nanoseconds at = 1255; at < 2000; at += at < 1750 ? 20 : 50) test_.sample(leak, 100, at);
  const LeakSite found = leaks().sites.front();
  EXPECT_TRUE(found.is_tested);
  EXPECT_FALSE(found.all.is_lasting);
  EXPECT_FALSE(found.all.is_slowing);
  EXPECT_EQ(found.verdict, LeakVerdict::kUndecided);
}

TEST_F(LeaksOf, ASlowingBeyondChanceIsClear) {
  const auto fills = site("fills");
  for (Nanoseconds at = 1255; at < 2000; at += at < 1750 ? 2 : 8) test_.sample(fills, 100, at);
  const LeakSite found = leaks().sites.front();
  EXPECT_TRUE(found.all.is_slowing);
  EXPECT_EQ(found.verdict, LeakVerdict::kClear);
}

// One of 300 sites: what is significant for one alone is not among so many.
TEST_F(LeaksOf, GrowthThatIsSignificantOnlyAloneIsUndecided) {
  const auto leak = site("leak");
  for (Nanoseconds at = 1255; at < 2000; at += 80) test_.sample(leak, 100, at);
  const Leaks alone = leaks();
  EXPECT_EQ(alone.sites.front().verdict, LeakVerdict::kSuspect);
  for (int i = 0; i < 300; ++i) {
    const auto scratch = site(("scratch" + std::to_string(i)).c_str());
    for (Nanoseconds at = 1260; at < 1900; at += 90) test_.sample(scratch, 100, at, at + 1);
  }
  const LeakSite found = leaks().sites.front();
  EXPECT_EQ(found.p_value, alone.sites.front().p_value);
  EXPECT_GT(found.q_value, 0.05);
  EXPECT_EQ(found.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(found.open, Open::kAlone);
}

TEST_F(LeaksOf, UndecidedIsWorthSayingOfLargePartsOnly) {
  const auto leak = site("leak"), table = site("table");
  test_.sample(leak, 100, 1500);
  for (Nanoseconds at = 1000; at < 1200; ++at) test_.sample(table, 1000, at);
  for (const LeakSite& site : leaks().sites) EXPECT_EQ(site.verdict, LeakVerdict::kClear);
}

TEST_F(LeaksOf, EndAndBeginAreThoseOfEachProcess) {
  // The same leak in a later process of another length.
  const auto other = test_.add_process();
  test_.recording.processes[other].end = 90'000;
  const auto leak = site("leak");
  for (Nanoseconds at = 1005; at < 2000; at += 20) test_.sample(leak, 100, at);
  for (Nanoseconds at = 50'000; at < 90'000; at += 800) {
    Sample& sample = test_.sample(leak, 100, at);
    sample.process = other;
    sample.epoch = other;
  }
  const LeakSite suspect = leaks().sites.front();
  EXPECT_EQ(suspect.verdict, LeakVerdict::kSuspect);
  EXPECT_NEAR(suspect.seconds, 0.75 * (1000 + 39'200) * 1e-9, 1e-10);
}

TEST_F(LeaksOf, CertainGrowthNeedsNoSampling) {
  TestRecording exact(1);
  exact.recording.processes[0].end = 3000;
  const auto leak = exact.stack({exact.location({"leak"})});
  for (Nanoseconds at = 1000; at <= 2000; at += 5) exact.sample(leak, 8, at + at % 3);
  const Leaks found = find_leaks(exact.recording, {});
  EXPECT_EQ(found.sites.front().verdict, LeakVerdict::kSuspect);
}

TEST_F(LeaksOf, SuppressedStacksAreCountedAndLeftOut) {
  const auto leak = site("leak");
  for (Nanoseconds at = 1005; at < 2000; at += 10) test_.sample(leak, 100, at);
  const auto parsed = Suppressions::parse("leak:nothing\nleak:^leak$\n");
  LeakOptions options;
  options.suppressions = &parsed.value();
  const Leaks found = leaks(options);
  EXPECT_TRUE(found.sites.empty());
  ASSERT_EQ(found.suppressed.size(), 1U);
  EXPECT_EQ(found.suppressed[0].pattern, 1U);
  EXPECT_EQ(found.suppressed[0].samples, 100U);
  EXPECT_EQ(found.suppressed[0].live.samples, 100U);
}

/// A site that keeps all of its 100 samples, in a process that was recorded late.
class LateLeaksOf : public LeaksOf {
 protected:
  LateLeaksOf() {
    const auto cache = site("cache");
    for (Nanoseconds at = 1005; at < 2000; at += 10) test_.sample(cache, 104, at).usable = 104;
    test_.recording.processes[0].is_attached = true;
    observed_.series.resize(1);
    observed_.series[0].time = 1000;
  }

  /// By walks in which `in_use(i)` chunks of the site were in use.
  LeakSite by_walks(const std::function<std::uint64_t(std::uint64_t)>& in_use) {
    for (std::uint64_t i = 0; i <= 40; ++i) {
      observed_.walks.push_back({1000 + 25 * i, {{112, in_use(i)}}});
    }
    return judged();
  }

  LeakSite judged() {
    test_.recording.observations = {observed_};
    return leaks().sites.front();
  }

  Observations observed_;
};

TEST_F(LateLeaksOf, WhatIsNotMeasuredIsUndecided) {
  const LeakSite site = leaks().sites.front();
  EXPECT_LE(site.seen_p_value, 0.05);
  EXPECT_EQ(site.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(site.open, Open::kUnmeasured);
  EXPECT_EQ(site.late->by, LateGrowth::By::kNothing);
  EXPECT_TRUE(std::isinf(site.all.interval.lo));
  EXPECT_FALSE(std::isinf(site.all.interval.hi));
}

TEST_F(LateLeaksOf, MemoryAtTheStartMayHaveGone) {
  observed_.series[0].counts.resident = 200'000;
  LeakSite site = judged();
  EXPECT_EQ(site.open, Open::kUnmeasured);
  EXPECT_EQ(site.late->by, LateGrowth::By::kMemory);
  EXPECT_LT(site.late->at_least, 0);
  observed_.series[0].counts.resident = 20'000;  // Less than a fifth of what it keeps.
  site = judged();
  EXPECT_EQ(site.verdict, LeakVerdict::kSuspect);
  EXPECT_GT(site.late->at_least, 50'000);
  observed_.series[0].time = 3'000'000'000;
  EXPECT_EQ(judged().late->by, LateGrowth::By::kNothing) << "not read at the start";
}

/// The same in a child by fork, whose parent had `inherited` samples of 104 bytes then.
class InheritedCache : public LateLeaksOf {
 protected:
  LeakSite judged_child(int inherited, std::uint32_t parent_pid = 101) {
    const auto table = site("table");
    for (int i = 0; i < inherited; ++i) test_.sample(table, 104, 990).process = 1;
    test_.recording.processes[0].is_attached = false;
    test_.recording.processes[0].is_fork_child = true;
    test_.recording.processes[0].parent_pid = parent_pid;
    test_.recording.processes[parent_].start = 900;
    test_.recording.processes[parent_].end = 3000;
    for (const LeakSite& site : leaks().sites) {
      if (site.group.name == "cache") return site;
    }
    ADD_FAILURE();
    return {};
  }
  std::uint32_t parent_ = test_.add_process();
};

TEST_F(InheritedCache, OfItsParentsObjectsMayBeTurnover) {
  const LeakSite site = judged_child(150);
  EXPECT_LE(site.seen_p_value, 0.05);
  EXPECT_EQ(site.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(site.late->by, LateGrowth::By::kInherited);
  EXPECT_GT(site.late->in_use_from, 150 * 1024);
  EXPECT_LT(site.late->at_least, 0);
}

TEST_F(InheritedCache, OfFewerObjectsThanItKeepsIsALeak) {
  const LeakSite site = judged_child(5);
  EXPECT_EQ(site.verdict, LeakVerdict::kSuspect);
  EXPECT_GT(site.late->at_least, 50'000);
  EXPECT_LT(site.late->in_use_from, 30 * 1024);
}

TEST_F(InheritedCache, HasNotAllThatItsParentAllocatedShortlyBefore) {
  const auto passing = site("passing");
  for (Nanoseconds i = 0; i < 50; ++i)
    test_.sample(passing, 104, 910 + i, 911 + i).process = parent_;
  EXPECT_LT(judged_child(5).late->in_use_from, 30 * 1024);
}

TEST_F(InheritedCache, OfAParentThatWasNotRecordedIsUndecided) {
  const LeakSite site = judged_child(0, 1);
  EXPECT_EQ(site.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(site.late->by, LateGrowth::By::kNothing);
}

TEST_F(LateLeaksOf, ChunksThatStayAreTurnover) {
  const LeakSite site = by_walks([](std::uint64_t) { return 5000; });
  EXPECT_EQ(site.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(site.open, Open::kTurnover);
  EXPECT_EQ(site.late->chunk, 112U);
  EXPECT_EQ(site.late->in_use_to, 5000 * 112);
}

/// A sample stands for some ten objects, so it gains a thousand.
TEST_F(LateLeaksOf, ChunksThatGrowAccuseTheirOnlySite) {
  const LeakSite site = by_walks([](std::uint64_t i) { return 5000 + 25 * i + i % 3; });
  EXPECT_EQ(site.verdict, LeakVerdict::kSuspect);
  EXPECT_TRUE(site.has_growing(112));
  EXPECT_GT(site.late->at_least, 0);
  EXPECT_LT(site.late->at_least, 1000 * 104);
  EXPECT_TRUE(leaks().growing.empty()) << "the suspect has them";
}

TEST_F(LateLeaksOf, ASuspectHasAllOfItsSizes) {
  const std::uint32_t cache = test_.recording.samples.back().stack;
  for (Nanoseconds at = 1008; at < 2000; at += 10) test_.sample(cache, 232, at).usable = 232;
  for (std::uint64_t i = 0; i <= 40; ++i) {
    const std::uint64_t more = 25 * i + i % 3;
    observed_.walks.push_back({1000 + 25 * i, {{112, 5000 + more}, {240, 3000 + more / 2}}});
  }
  const LeakSite site = judged();
  EXPECT_EQ(site.verdict, LeakVerdict::kSuspect);
  EXPECT_TRUE(site.has_growing(112));
  EXPECT_TRUE(site.has_growing(240));
  EXPECT_TRUE(leaks().growing.empty()) << "the suspect has both";
}

TEST_F(LateLeaksOf, ChunksThatGrowAccuseNoneOfTwoSites) {
  const auto other = site("other");
  for (Nanoseconds at = 1007; at < 2000; at += 10) test_.sample(other, 104, at).usable = 104;
  const LeakSite site = by_walks([](std::uint64_t i) { return 5000 + 25 * i + i % 3; });
  EXPECT_EQ(site.verdict, LeakVerdict::kUndecided);
  EXPECT_EQ(site.open, Open::kChunks);
  const Leaks found = leaks();
  ASSERT_EQ(found.growing.size(), 1U);
  EXPECT_EQ(found.growing[0].chunk, 112U);
  EXPECT_NEAR(found.growing[0].bytes, 0.75 * 1000 * 112, 0.05 * 1000 * 112);
  EXPECT_LE(found.growing[0].q_value, 0.05);
}

/// A segment that opens with all live samples hides no frees.
TEST_F(LateLeaksOf, DeletedSegmentsHideNothing) {
  Process& process = test_.recording.processes[0];
  process.is_attached = false;
  process.segments = {{.number = 3}};
  EXPECT_EQ(leaks().sites.front().verdict, LeakVerdict::kSuspect);
  process.segments[0].lost = 1;
  EXPECT_EQ(leaks().sites.front().verdict, LeakVerdict::kUndecided);
  process.segments[0] = {.number = 3, .is_complete = false};
  EXPECT_EQ(leaks().sites.front().verdict, LeakVerdict::kUndecided);
}

TEST(ChunkWalks, AreThinnedEvenly) {
  std::vector<ChunkCensus> walks(kMostWalks + 1);
  for (std::size_t i = 0; i < walks.size(); ++i) walks[i] = {i, {{32, i}}};
  thin(walks);
  ASSERT_EQ(walks.size(), kMostWalks / 2 + 1);
  for (std::size_t i = 0; i < walks.size(); ++i) {
    EXPECT_EQ(walks[i].time, 2 * i);
    ASSERT_EQ(walks[i].in_use.size(), 1U);
  }
}

TEST_F(LeaksOf, NothingIsFoundInNothing) {
  EXPECT_TRUE(find_leaks({}, {}).sites.empty());
  TestRecording empty;
  EXPECT_TRUE(find_leaks(empty.recording, {}).sites.empty());
  empty.sample(empty.stack({}), 100, 2000);
  EXPECT_EQ(find_leaks(empty.recording, {}).sites.front().verdict, LeakVerdict::kClear);
}

}  // namespace
}  // namespace geiger::profile::leaks_test
