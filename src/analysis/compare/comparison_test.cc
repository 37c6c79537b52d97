#include "analysis/compare/comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "analysis/compare/test_sides.h"

namespace geiger::compare {
namespace {

using profile::Kind;
using profile::TestRecording;

constexpr double kInterval = kTestInterval;

Comparison compared(const std::vector<TestRecording>& before,
                    const std::vector<TestRecording>& after, Kind kind = Kind::kAllocated) {
  Collected collected = collect_runs(before, after, kind);
  EXPECT_TRUE(check_comparable(collected, 0.95).has_value());
  return compare(std::move(collected), 0.95);
}

TEST(Comparison, GivesEverySiteAVerdict) {
  const auto before =
      run_with({{"same", 400}, {"grew", 100}, {"shrank", 200}, {"gone", 50}, {"rare", 1}});
  const auto after =
      run_with({{"same", 410}, {"grew", 200}, {"shrank", 100}, {"new", 50}, {"rare", 2}});
  const Comparison comparison = compared({before}, {after});
  EXPECT_EQ(row(comparison, "same").verdict, Verdict::kNoise);
  EXPECT_EQ(row(comparison, "grew").verdict, Verdict::kGrew);
  EXPECT_EQ(row(comparison, "shrank").verdict, Verdict::kShrank);
  EXPECT_EQ(row(comparison, "new").verdict, Verdict::kFirstSeen);
  EXPECT_EQ(row(comparison, "gone").verdict, Verdict::kNotSeen);
  EXPECT_EQ(row(comparison, "rare").verdict, Verdict::kTooFew);
  EXPECT_EQ(comparison.tested, 5U);
  EXPECT_FALSE(comparison.run_deviation) << "one run per side shows the sampling error only";
}

/// Where every allocation was recorded, a site without samples allocated nothing.
TEST(Comparison, OnlyWhatWasRecordedWhollyIsGone) {
  const auto exact = [](const std::vector<Sampled>& sites) {
    TestRecording run = run_with(sites, 1);
    for (profile::Sample& sample : run.recording.samples) sample.is_certain = true;
    return run;
  };
  const Comparison comparison =
      compared({exact({{"same", 400}, {"old", 50}})}, {exact({{"same", 400}, {"young", 50}})});
  EXPECT_EQ(row(comparison, "young").verdict, Verdict::kNew);
  EXPECT_EQ(row(comparison, "old").verdict, Verdict::kGone);
}

TEST(Comparison, WhatStacksThatWereCutMayHoldIsNotGone) {
  TestRecording before = run_with({{"made", 400}, {"other", 100}});
  before.sample(before.stack({before.location({"leaf"}), before.location({"deep"})}), 16);
  TestRecording after = run_with({{"other", 100}, {"new", 5}});
  const auto cut = after.stack({after.location({"leaf"})}, true);
  for (int i = 0; i < 400; ++i) after.sample(cut, 16);
  for (const bool has_several : {false, true}) {
    const std::vector sides(has_several ? 2 : 1, before), others(has_several ? 2 : 1, after);
    Collected collected = collect_runs(sides, others, Kind::kLiveAtEnd, {}, {.is_inclusive = true});
    const Comparison comparison = compare(std::move(collected), 0.95);
    const Row& made = row(comparison, "made");
    EXPECT_FALSE(is_change(made.verdict)) << name_of(made.verdict);
    EXPECT_GT(made.change.interval.hi, 0);
    EXPECT_LT(made.change.value, -390 * kInterval);
    EXPECT_EQ(row(comparison, "leaf").verdict, Verdict::kGrew) << "it is seen in those stacks";
  }
  Collected own = collect_runs({before}, {after}, Kind::kLiveAtEnd);
  EXPECT_EQ(row(compare(std::move(own), 0.95), "made").verdict, Verdict::kNotSeen)
      << "the leaf is never cut";
}

TEST(Comparison, PutsChangesFirstAndTheLargestOnTop) {
  auto before = run_with({{"noisy", 10'000}, {"small", 10}, {"large", 100}});
  before.recording.threads[0].armed = 1;  // Else the totals would show what noisy did.
  const auto after = run_with({{"noisy", 10'150}, {"small", 60}, {"large", 300}});
  const Comparison comparison = compared({before}, {after});
  std::vector<std::string> names;
  for (const Row& row : comparison.rows) names.push_back(comparison.collected.sites[row.site].name);
  EXPECT_THAT(names, testing::ElementsAre("large", "small", "noisy"));
}

TEST(Comparison, WithinStrataIsTheMeanOfTheStrata) {
  const auto small = run_with({{"same", 400}, {"grew", 100}});
  const auto small_grown = run_with({{"same", 400}, {"grew", 300}});
  const auto large = run_with({{"same", 4000}, {"only here", 500}});
  std::vector<Collected> strata;
  strata.push_back(collect_runs({small, small}, {small_grown, small_grown}));
  strata.push_back(collect_runs({large, large}, {large, large}));
  strata.push_back(collect_runs({large, large, large, large}, {}));  // Of one side.
  const Comparison within = compare_within(
      collect_runs({small, small, large, large}, {small_grown, small_grown, large, large}),
      std::move(strata), 0.95);
  EXPECT_EQ(within.strata, 2U);
  EXPECT_DOUBLE_EQ(within.matched, 8.0 / 12);
  EXPECT_EQ(row(within, "grew").verdict, Verdict::kGrew);
  EXPECT_NE(row(within, "same").verdict, Verdict::kGrew);
  const double grown = row(within, "grew").change.value;
  EXPECT_NEAR(grown, 100 * kInterval, 0.02 * 100 * kInterval) << "200 samples in one of two strata";
  EXPECT_NEAR(row(within, "grew").after.value - row(within, "grew").before.value, grown, 1e-6);
  EXPECT_NEAR(within.total.change.value, grown, 1e-6);
  EXPECT_EQ(row(within, "only here").change.value, 0);
}

TEST(Comparison, StrataKeepApartWhatReleasesMix) {
  const auto small = run_with({{"site", 100}});
  const auto large = run_with({{"site", 1000}});
  const std::vector before{small, small, small, large}, after{small, large, large, large};
  EXPECT_GT(compared(before, after).total.change.value, 400 * kInterval);
  std::vector<Collected> strata;
  strata.push_back(collect_runs({small, small, small}, {small}));
  strata.push_back(collect_runs({large}, {large, large, large}));
  const Comparison within = compare_within(collect_runs(before, after), std::move(strata), 0.95);
  EXPECT_NEAR(within.total.change.value, 0, 1e-6);
  EXPECT_FALSE(is_change(row(within, "site").verdict));
}

TEST(Comparison, WhatASideLacksIsNotGone) {
  const auto whole = run_with({{"main", 50}, {"gone", 100}});
  auto part = run_with({{"main", 50}, {"new", 100}});
  EXPECT_EQ(row(compared({whole}, {part}), "gone").verdict, Verdict::kNotSeen);
  part.recording.unrecorded_processes = 1;
  const Comparison comparison = compared({whole}, {part});
  EXPECT_EQ(row(comparison, "gone").verdict, Verdict::kTooFew);
  EXPECT_EQ(row(comparison, "new").verdict, Verdict::kFirstSeen) << "the other side is whole";
  EXPECT_EQ(row(compared({part}, {whole}), "gone").verdict, Verdict::kTooFew) << "not new";
}

TEST(Comparison, NewSitesAreBounded) {
  const Comparison comparison =
      compared({run_with({{"main", 50}})}, {run_with({{"main", 50}, {"new", 20}})});
  const Row& site = row(comparison, "new");
  EXPECT_EQ(site.before.value, 0);
  EXPECT_NEAR(site.before.interval.hi, 3.689 * kInterval, 3);
  EXPECT_GT(site.change.interval.lo, 0);
  EXPECT_LT(site.change.interval.lo, site.change.value);
  EXPECT_GT(comparison.detectable_new, 5 * kInterval);
  EXPECT_LT(comparison.detectable_new, 20 * kInterval);
}

TEST(Comparison, CertainPartsDifferWithoutError) {
  TestRecording before = run_with({{"make", 30}});
  TestRecording after = run_with({{"make", 30}});
  after.sample(0, 1 << 20).is_certain = true;
  const Comparison comparison = compared({before}, {after});
  const Row& site = row(comparison, "make");
  EXPECT_EQ(site.change.certain, 1 << 20);
  EXPECT_DOUBLE_EQ(site.change.value, 1 << 20);
  EXPECT_EQ(site.verdict, Verdict::kGrew);
}

TEST(Comparison, OneMoreCertainObjectMayStillBeNoise) {
  TestRecording before = run_with({{"make", 30}});
  TestRecording after = run_with({{"make", 29}});
  after.sample(0, kTestInterval).is_certain = true;
  EXPECT_EQ(row(compared({before}, {after}), "make").verdict, Verdict::kNoise);
}

TEST(Comparison, WithEveryByteSampledAllIsCertain) {
  TestRecording before = run_with({{"make", 30}, {"same", 3}}, 1);
  TestRecording after = run_with({{"make", 31}, {"same", 3}}, 1);
  const Comparison comparison = compared({before}, {after});
  const Row& site = row(comparison, "make");
  EXPECT_EQ(site.change.value, 16);
  EXPECT_EQ(site.change.interval.lo, 16);
  EXPECT_EQ(site.change.interval.hi, 16);
  EXPECT_EQ(site.verdict, Verdict::kGrew);
  EXPECT_FALSE(is_change(row(comparison, "same").verdict));
}

TEST(Comparison, CountedTotalsDifferExactly) {
  const auto before = run_with({{"make", 30}});
  TestRecording after = run_with({{"make", 40}});
  after.recording.threads[0].armed = 100;
  const Comparison comparison = compared({before}, {after});
  ASSERT_TRUE(comparison.exact);
  EXPECT_EQ(comparison.exact->change(), 10 * kInterval);
  EXPECT_FALSE(comparison.exact->is_settled());
  EXPECT_EQ(comparison.exact->unsettled_after, 100);
  EXPECT_FALSE(compared({before}, {after}, Kind::kLiveAtEnd).exact);
}

TEST(Comparison, CountedTotalsHaveAVerdictOfTheirOwn) {
  const auto before = run_with({{"make", 30}});
  TestRecording after = run_with({{"make", 31}});
  Comparison comparison = compared({before}, {after});
  EXPECT_EQ(comparison.exact->verdict, Verdict::kGrew);
  EXPECT_EQ(comparison.exact->p_value, 0);
  EXPECT_EQ(compared({after}, {before}).exact->verdict, Verdict::kShrank);
  EXPECT_EQ(compared({before}, {before}).exact->verdict, Verdict::kNoise);
  // What is not settled may be all of it.
  after.recording.threads[0].armed = static_cast<Bytes>(2 * kInterval);
  TestRecording open = before;
  open.recording.threads[0].armed = static_cast<Bytes>(2 * kInterval);
  comparison = compared({open}, {after});
  EXPECT_EQ(comparison.exact->verdict, Verdict::kNoise);
  // What is missing was not counted.
  after = run_with({{"make", 31}});
  after.recording.is_damaged = true;
  EXPECT_EQ(compared({before}, {after}).exact->verdict, Verdict::kTooFew);
}

TEST(Comparison, CountedTotalsVaryFromRunToRun) {
  const auto runs = [](int first, int second, int third) {
    return std::vector{run_with({{"make", first}}), run_with({{"make", second}}),
                       run_with({{"make", third}})};
  };
  EXPECT_EQ(compared(runs(300, 400, 500), runs(330, 440, 540)).exact->verdict, Verdict::kNoise);
  EXPECT_EQ(compared(runs(400, 401, 402), runs(440, 441, 442)).exact->verdict, Verdict::kGrew);
}

TEST(Comparison, ValuesWithoutErrorsDecideNothing) {
  const auto before = run_with({{"make", 30}}, 1);
  TestRecording after = run_with({{"make", 60}}, 1);
  EXPECT_EQ(row(compared({before}, {after}), "make").verdict, Verdict::kGrew);
  after.recording.processes[0].is_imported = true;
  after.recording.processes[0].interval = 0;
  const Comparison comparison = compared({before}, {after});
  EXPECT_TRUE(comparison.lacks_errors);
  EXPECT_EQ(row(comparison, "make").verdict, Verdict::kTooFew);
  EXPECT_EQ(comparison.total.verdict, Verdict::kTooFew);
  EXPECT_EQ(comparison.tested, 0U);
}

TEST(Comparison, BytesArePerRun) {
  const auto run = run_with({{"make", 40}});
  const Comparison comparison = compared({run}, {run, run, run});
  const Row& site = row(comparison, "make");
  EXPECT_NEAR(site.after.value, site.before.value, 1e-9 * site.before.value);
  EXPECT_NEAR(site.change.value, 0, 1e-9 * site.before.value);
  EXPECT_EQ(comparison.exact->change(), 0);
}

/// 30 sites, each of `mean` samples, which vary from run to run by `deviation`.
TestRecording varying_run(std::mt19937_64& random, double mean, double deviation) {
  std::vector<Sampled> sites;
  std::normal_distribution<double> factor(1, deviation);
  for (int i = 0; i < 30; ++i) {
    std::poisson_distribution<int> samples(mean * std::max(0.0, factor(random)));
    sites.emplace_back("site" + std::to_string(i), samples(random));
  }
  return run_with(sites);
}

std::size_t changes_in(const Comparison& comparison) {
  return static_cast<std::size_t>(std::ranges::count_if(
      comparison.rows, [](const Row& row) { return is_change(row.verdict); }));
}

TEST(Comparison, SeveralRunsDoNotCryWolf) {
  // 30 sites x 20 comparisons in which nothing but runs differ, by 20 %. A comparison
  // with any finding at all has a probability of at most 5 % (Benjamini-Hochberg under
  // the complete null): more than 4 of 20 have one of 0.3 %.
  std::mt19937_64 random(7);
  int with_runs = 0;
  int without = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<TestRecording> runs;
    runs.reserve(6);
    for (int run = 0; run < 6; ++run) runs.push_back(varying_run(random, 400, 0.2));
    with_runs += changes_in(compared({runs[0], runs[1], runs[2]}, {runs[3], runs[4], runs[5]})) > 0;
    without += changes_in(compared({runs[0]}, {runs[3]})) > 0;
  }
  EXPECT_LE(with_runs, 4);
  EXPECT_GE(without, 18) << "one run per side cannot know; the report says so";
}

TEST(Comparison, SeveralRunsFindWhatIsThere) {
  std::mt19937_64 random(8);
  std::vector<TestRecording> before, after;
  for (int run = 0; run < 4; ++run) {
    before.push_back(varying_run(random, 400, 0.05));
    after.push_back(varying_run(random, 400, 0.05));
    const auto stack = after.back().stack({after.back().location({"site7"})});
    for (int i = 0; i < 200; ++i) after.back().sample(stack, 16);
  }
  const Comparison comparison = compared(before, after);
  EXPECT_EQ(row(comparison, "site7").verdict, Verdict::kGrew);
  EXPECT_EQ(changes_in(comparison), 1U);
  ASSERT_TRUE(comparison.run_deviation);
  EXPECT_NEAR(*comparison.run_deviation, 0.05, 0.05);
}

TEST(Comparison, SaysWhyItCannotCompare) {
  const auto run = run_with({{"make", 40}});
  EXPECT_EQ(check_comparable(collect_runs({run}, {}), 0.95).reason(), "one side has no runs");
  EXPECT_EQ(check_comparable(collect_runs({}, {run}), 0.95).reason(), "one side has no runs");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double level : {0.0, 1.0, -1.0, 2.0, nan}) {
    EXPECT_EQ(check_comparable(collect_runs({run}, {run}), level).reason(),
              "the confidence level must be between 0 and 1");
  }
  const auto other = run_with({{"other", 40}});
  EXPECT_EQ(check_comparable(collect_runs({run}, {other}), 0.95).reason(),
            "the two sides have nothing in common: are they runs of the same program?");
  const auto few = run_with({{"other", 2}});
  EXPECT_TRUE(check_comparable(collect_runs({run}, {few}), 0.95).has_value())
      << "chance explains it";
  EXPECT_TRUE(check_comparable(collect_runs({run}, {run_with({})}), 0.95).has_value());
}

void expect_finite(const Change& change) {
  for (const double number :
       {change.value, change.interval.lo, change.interval.hi, change.certain, change.p_value,
        change.q_value, change.detectable, change.dispersion}) {
    EXPECT_TRUE(std::isfinite(number));
  }
}

TEST(Comparison, NothingIsEverNaN) {
  TestRecording huge = run_with({{"make", 1}});
  huge.sample(0, Bytes{1} << 62).is_certain = true;
  const std::vector<TestRecording> runs{run_with({}), run_with({{"make", 3}}), huge,
                                        run_with({{"make", 2}}, 1),
                                        run_with({{"make", 2}}, Bytes{1} << 40)};
  for (const auto& before : runs) {
    for (const auto& after : runs) {
      for (const bool twice : {false, true}) {
        const Comparison comparison =
            compared({before}, twice ? std::vector{after, runs[1]} : std::vector{after});
        expect_finite(comparison.total.change);
        for (const Row& row : comparison.rows) expect_finite(row.change);
      }
    }
  }
}

}  // namespace
}  // namespace geiger::compare
