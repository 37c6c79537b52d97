#include "analysis/compare/gates.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "analysis/compare/comparison.h"
#include "analysis/compare/site_runs.h"
#include "analysis/compare/test_sides.h"
#include "analysis/profile/select/peak.h"
#include "estimation/difference.h"

namespace geiger::compare {
namespace {

using profile::Kind;
using profile::TestRecording;
using Runs = std::vector<TestRecording>;

constexpr double kT = kTestInterval;

Verdicts answers(const Runs& before, const Runs& after, const Gates& gates,
                 Kind kind = Kind::kAllocated) {
  std::vector<Pattern> patterns;
  for (const GateSpec& spec : gates.specs) patterns.push_back(spec.pattern);
  const Collected collected = collect_runs(before, after, kind, patterns);
  EXPECT_TRUE(check_comparable(collected, gates).has_value());
  return check(collected, gates);
}

Gates growth_of_total(double most) {
  return {{{{}, {Measured::kGrowth, most}, "test"}}, {}, std::nullopt, 0.95};
}
Gates bytes_of_total(double most) {
  return {{{{}, {Measured::kBytes, most}, "test"}}, {}, std::nullopt, 0.95};
}
Gates growth_of_sites(double most) {
  return {{}, {{{Measured::kGrowth, most}, "test"}}, std::nullopt, 0.95};
}

Answer total_answer(int before, int after, const Gates& gates, Kind kind) {
  return answers({run_with({{"make", before}})}, {run_with({{"make", after}})}, gates, kind).answer;
}

TEST(Gates, CountedTotalsNeedNoSamples) {
  EXPECT_EQ(total_answer(100, 105, growth_of_total(0.05), Kind::kAllocated), Answer::kPass);
  EXPECT_EQ(total_answer(100, 106, growth_of_total(0.05), Kind::kAllocated), Answer::kFail);
  EXPECT_EQ(total_answer(100, 50, growth_of_total(-0.5), Kind::kAllocated), Answer::kPass);
  EXPECT_EQ(total_answer(100, 51, growth_of_total(-0.5), Kind::kAllocated), Answer::kFail);
  EXPECT_EQ(total_answer(1, 100, bytes_of_total(100 * kT), Kind::kAllocated), Answer::kPass);
  EXPECT_EQ(total_answer(1, 101, bytes_of_total(100 * kT), Kind::kAllocated), Answer::kFail);
}

TEST(Gates, StacksThatWereCutLeaveFunctionsUndecided) {
  TestRecording run = run_with({{"make", 100}});
  const auto cut = run.stack({run.location({"deep"})}, true);
  for (int i = 0; i < 50; ++i) run.sample(cut, 16);
  const auto answer_at = [&](const char* function, double most) {
    const Gates gates{{{{.function = function}, {Measured::kBytes, most}, "test"}}, {}, {}, 0.95};
    return answers({}, {run}, gates).results.front();
  };
  const GateResult result = answer_at("make", 130 * kT);
  EXPECT_EQ(result.answer, Answer::kUndecided);
  EXPECT_FALSE(result.effort) << "more samples would not help";
  EXPECT_NEAR(result.open, 50 * kT, 0.02 * 50 * kT);
  EXPECT_EQ(answer_at("make", 200 * kT).answer, Answer::kPass) << "with all of them";
  EXPECT_EQ(answer_at("make", 50 * kT).answer, Answer::kFail) << "without them";
  EXPECT_EQ(answer_at("deep", 130 * kT).answer, Answer::kPass) << "the other stacks are whole";
  EXPECT_EQ(answer_at("missing", 10 * kT).answer, Answer::kUndecided);
}

/// Twenty hills of one height: a quarter of the samples chooses one, and the highest by all samples
/// is another.
TEST(Gates, TheTotalOfThePeakHasThePeaksUpperLimit) {
  TestRecording run(kTestInterval);
  run.recording.processes[0].end = 5000;
  const auto stack = run.stack({run.location({"make"})});
  for (Nanoseconds hill = 0; hill < 20; ++hill) {
    for (Bytes i = 0; i < 40 + hill % 3; ++i) {
      run.sample(stack, 16, 1000 + 100 * hill, 1090 + 100 * hill);
    }
  }
  const auto profile = profile::select(run.recording, Kind::kLiveAtPeak);
  const auto there = estimation::estimate_bytes(total(run.recording, profile), 0.9);
  const double hi = estimate_peak(run.recording, *profile.peak, there, 0.9).interval.hi;
  EXPECT_GT(hi, 1.02 * there.interval.hi);
  const GateResult result =
      answers({}, {run}, bytes_of_total(there.interval.hi), Kind::kLiveAtPeak).results.front();
  EXPECT_NEAR(*result.hi, hi, 1e-9 * hi);
  EXPECT_EQ(result.answer, Answer::kUndecided);
  EXPECT_EQ(answers({}, {run}, bytes_of_total(hi + 1), Kind::kLiveAtPeak).answer, Answer::kPass);
}

/// Two hills of one height: either may have been the peak, and each size is in one of them alone.
TEST(Gates, PartsOfThePeakFailOnlyWhereNoInstantWouldPass) {
  TestRecording run(kTestInterval);
  run.recording.processes[0].end = 5000;
  const auto stack = run.stack({run.location({"make"})});
  for (const Bytes size : {16, 17}) {
    for (int i = 0; i < 40; ++i)
      run.sample(stack, size, 1000 * (size - 15), 1000 * (size - 15) + 900);
  }
  const auto whole = profile::select(run.recording, Kind::kLiveAtPeak);
  const Bytes there = whole.entries.at(0).requested;
  profile::Selection selection;
  selection.kind = Kind::kLiveAtPeak;
  selection.keeps = [there](const profile::Sample& sample) { return sample.requested == there; };
  const auto part = profile::select(run.recording, selection);
  const double lo = estimation::estimate_bytes(total(run.recording, part), 0.9).interval.lo;
  EXPECT_GT(lo, 20 * kT);
  Collector collector(Kind::kLiveAtPeak, {}, {{}});
  EXPECT_TRUE(collector.add(Which::kAfter, run.recording, part).has_value());
  EXPECT_EQ(check(collector.finish(), bytes_of_total(lo / 2)).answer, Answer::kUndecided);
}

TEST(Gates, StrictOnesAreNotKeptByWhatWasNotSampled) {
  Gates gates{{{{.function = "mistyped*"}, {Measured::kBytes, 10 * kT}, "test"}}, {}, {}, 0.95};
  const std::vector run{run_with({{"make", 100}})};
  EXPECT_EQ(answers({}, run, gates).answer, Answer::kPass);
  gates.is_strict = true;
  const Verdicts verdicts = answers({}, run, gates);
  EXPECT_EQ(verdicts.answer, Answer::kUndecided);
  EXPECT_EQ(verdicts.results.front().lacks, "nothing of it was sampled");
}

TEST(Gates, UnsettledBytesLeaveCountsOpen) {
  TestRecording after = run_with({{"make", 100}});
  after.recording.threads[0].armed = 10 * kTestInterval;
  const auto verdicts = answers({run_with({{"make", 100}})}, {after}, growth_of_total(0.05));
  EXPECT_EQ(verdicts.answer, Answer::kUndecided);
  EXPECT_TRUE(verdicts.results[0].is_exact);
  EXPECT_FALSE(verdicts.results[0].effort) << "samples would not help";
  EXPECT_NEAR(*verdicts.results[0].hi, 0.1, 1e-9);
  EXPECT_NEAR(verdicts.results[0].lo, 0, 1e-9);
}

TEST(Gates, WhatWasNotCountedIsNotTrusted) {
  TestRecording imported = run_with({{"make", 1000}});
  imported.recording.processes[0].is_imported = true;
  imported.recording.threads.clear();
  const auto over = answers({}, {imported}, bytes_of_total(500 * kT));
  EXPECT_EQ(over.answer, Answer::kFail);
  EXPECT_FALSE(over.results[0].is_exact);
  EXPECT_NEAR(over.results[0].value.value_or(0), 1000 * kT, 20 * kT);
  EXPECT_EQ(answers({}, {imported}, bytes_of_total(1010 * kT)).answer, Answer::kUndecided);
  EXPECT_EQ(answers({}, {imported}, bytes_of_total(2000 * kT)).answer, Answer::kPass);
  const auto growth = answers({run_with({{"make", 100}})}, {imported}, growth_of_total(0.5));
  EXPECT_EQ(growth.answer, Answer::kFail);
  EXPECT_FALSE(growth.results[0].is_exact);
}

TEST(Gates, ValuesWithoutErrorsNeitherPassNorFail) {
  TestRecording imported = run_with({{"make", 1000}}, 1);
  imported.recording.processes[0].is_imported = true;
  imported.recording.processes[0].interval = 0;
  for (const double most : {1.0, 1e9}) {
    const auto answer = answers({}, {imported}, bytes_of_total(most));
    EXPECT_EQ(answer.answer, Answer::kUndecided) << most;
    EXPECT_EQ(answer.results[0].lacks, "1 profile does not contain its errors");
  }
}

/// The answers about a run that lacks something: a limit on bytes far above, and far below.
struct Answers {
  Answer generous, strict;
  std::string lacks;
};
Answers answers_about(const TestRecording& run, Kind kind) {
  const auto generous = answers({}, {run}, bytes_of_total(1e6 * kT), kind);
  const auto strict = answers({}, {run}, bytes_of_total(kT), kind);
  return {generous.answer, strict.answer, generous.results[0].lacks};
}

TEST(Gates, AnIncompleteRecordingNeverPasses) {
  const TestRecording whole = run_with({{"make", 1000}});
  EXPECT_EQ(answers_about(whole, Kind::kAllocated).generous, Answer::kPass);

  TestRecording damaged = whole;
  damaged.recording.is_damaged = true;
  EXPECT_EQ(answers_about(damaged, Kind::kAllocated).generous, Answer::kUndecided);
  EXPECT_EQ(answers_about(damaged, Kind::kAllocated).strict, Answer::kFail)
      << "more than the limit is at hand";
  EXPECT_EQ(answers_about(damaged, Kind::kLiveAtEnd).strict, Answer::kUndecided)
      << "frees may be missing";
  EXPECT_NE(answers_about(damaged, Kind::kAllocated).lacks, "");

  TestRecording dropped = whole;
  dropped.recording.processes[0].drops[1] = 3;
  EXPECT_EQ(answers_about(dropped, Kind::kAllocated).generous, Answer::kPass) << "it is counted";
  EXPECT_EQ(answers_about(dropped, Kind::kLiveAtEnd).generous, Answer::kUndecided);
  EXPECT_EQ(answers_about(dropped, Kind::kLiveAtEnd).lacks, "3 samples were dropped");

  TestRecording unfinished = whole;
  unfinished.recording.processes[0].uncommitted = 1;
  EXPECT_EQ(answers_about(unfinished, Kind::kLiveAtPeak).generous, Answer::kUndecided);

  TestRecording headless = whole;
  headless.recording.processes[0].segments = {{.number = 3}};
  EXPECT_EQ(answers_about(headless, Kind::kAllocated).generous, Answer::kUndecided);

  TestRecording full = whole;
  full.recording.processes[0].ending = profile::Ending::kSwitchedOff;
  EXPECT_EQ(answers_about(full, Kind::kAllocated).generous, Answer::kUndecided);

  TestRecording attached = whole;
  attached.recording.processes[0].is_attached = true;
  EXPECT_EQ(answers_about(attached, Kind::kAllocated).generous, Answer::kPass);
  EXPECT_EQ(answers_about(attached, Kind::kLiveAtEnd).generous, Answer::kUndecided);

  TestRecording missing = whole;
  missing.recording.threads[0].hits = 5000;
  EXPECT_EQ(answers_about(missing, Kind::kLiveAtEnd).generous, Answer::kUndecided);
}

TEST(Gates, AnIncompleteBaselineDecidesNoGrowth) {
  TestRecording damaged = run_with({{"make", 1000}});
  damaged.recording.is_damaged = true;
  const TestRecording whole = run_with({{"make", 1000}});
  EXPECT_EQ(answers({damaged}, {whole}, growth_of_total(0.5)).answer, Answer::kUndecided);
  EXPECT_EQ(answers({damaged}, {whole}, bytes_of_total(2000 * kT)).answer, Answer::kPass);
}

TEST(Gates, EstimatesAnswerOnlyWhenTheyCan) {
  const Kind live = Kind::kLiveAtEnd;
  EXPECT_EQ(total_answer(1000, 1000, growth_of_total(0.2), live), Answer::kPass);
  EXPECT_EQ(total_answer(1000, 1500, growth_of_total(0.2), live), Answer::kFail);
  EXPECT_EQ(total_answer(1000, 1200, growth_of_total(0.2), live), Answer::kUndecided);
  EXPECT_EQ(total_answer(10, 12, growth_of_total(0.2), live), Answer::kUndecided);
  EXPECT_EQ(total_answer(1, 1000, bytes_of_total(2000 * kT), live), Answer::kPass);
  EXPECT_EQ(total_answer(1, 1000, bytes_of_total(500 * kT), live), Answer::kFail);
  EXPECT_EQ(total_answer(1, 1000, bytes_of_total(1010 * kT), live), Answer::kUndecided);
}

TEST(Gates, SayWhatWouldDecide) {
  const auto verdicts = answers({run_with({{"make", 1000}})}, {run_with({{"make", 1150}})},
                                growth_of_total(0.2), Kind::kLiveAtEnd);
  ASSERT_EQ(verdicts.answer, Answer::kUndecided);
  ASSERT_TRUE(verdicts.results[0].effort);
  const double effort = *verdicts.results[0].effort;
  EXPECT_GT(effort, 1);
  // With that many times the samples and the same growth the answer is given.
  const auto more = answers({run_with({{"make", static_cast<int>(1000 * effort)}})},
                            {run_with({{"make", static_cast<int>(1150 * effort)}})},
                            growth_of_total(0.2), Kind::kLiveAtEnd);
  EXPECT_EQ(more.answer, Answer::kPass);
}

TEST(Gates, GrowthLimitsAreThoseOfTheRatio) {
  const Collected collected = collect_runs({run_with({{"make", 37}})}, {run_with({{"make", 52}})});
  const LimitFinder finder(collected);
  const Subject subject{.before = &collected.before.total, .after = &collected.after.total};
  // MOVER for a ratio (Donner and Zou), solved for its two limits.
  const auto a = estimation::estimate_bytes(collected.before.total.sums, 0.9);
  const auto b = estimation::estimate_bytes(collected.after.total.sums, 0.9);
  const auto limit = [&](double over, double under, double sign) {
    const double square = under * (2 * a.value - under);
    const double product = a.value * b.value;
    const double root = std::sqrt(product * product - square * over * (2 * b.value - over));
    return (product + sign * root) / square - 1;
  };
  const double lowest = limit(b.interval.lo, a.interval.hi, -1);
  const double highest = limit(b.interval.hi, a.interval.lo, 1);
  EXPECT_NEAR(finder.lowest_growths(std::span(&subject, 1), 0.95)[0], lowest, 1e-6);
  EXPECT_NEAR(finder.highest_growths(std::span(&subject, 1), 0.95)[0], highest, 1e-6);
}

TEST(Gates, NothingBeforeBoundsNoGrowth) {
  const auto verdicts = answers({run_with({{"main", 500}})},
                                {run_with({{"main", 500}, {"new", 300}})}, growth_of_sites(0.05));
  EXPECT_EQ(verdicts.answer, Answer::kFail);
  ASSERT_EQ(verdicts.failed, 1U);
  EXPECT_EQ(verdicts.results[0].name, "new");
  EXPECT_FALSE(verdicts.results[0].value);
  EXPECT_FALSE(verdicts.results[0].hi);
  EXPECT_GT(verdicts.results[0].lo, 10);
}

TEST(Gates, SitesFailOnlyBeyondWhatChanceDoesToSomeOfThem) {
  // The largest of 200 sites that did not change: z = 2.9.
  std::vector<Sampled> before, after;
  for (int i = 0; i < 200; ++i) before.emplace_back("site" + std::to_string(i), 400);
  after = before;
  after[0].second = 400 + static_cast<int>(2.9 * std::sqrt(800));
  Gates gates = growth_of_sites(0);
  gates.ignore_below = 0;
  const auto many = answers({run_with(before)}, {run_with(after)}, gates);
  EXPECT_EQ(many.failed, 0U);
  const auto one = answers({run_with({before[0]})}, {run_with({after[0]})}, gates);
  EXPECT_EQ(one.failed, 1U) << "the same change in a single site is evidence";
}

TEST(Gates, SmallChangesOfSitesAreIgnored) {
  const Runs before{run_with({{"large", 5000}, {"small", 5}})};
  const Runs after{run_with({{"large", 5000}, {"small", 20}})};
  Gates gates = growth_of_sites(0.5);
  EXPECT_EQ(answers(before, after, gates).answer, Answer::kPass);
  gates.ignore_below = 100;
  EXPECT_NE(answers(before, after, gates).answer, Answer::kPass);
}

TEST(Gates, PatternsTakeAllThatTheyCall) {
  Gates gates;
  gates.specs = {{{"main", "*"}, {Measured::kBytes, 100 * kT}, "b:1"},
                 {{"make", "*"}, {Measured::kBytes, 100 * kT}, "b:2"},
                 {{"nobody", "*"}, {Measured::kGrowth, 0.1}, "b:3"}};
  const auto verdicts = answers({run_with({{"make", 50}, {"other", 300}})},
                                {run_with({{"make", 50}, {"other", 300}})}, gates);
  ASSERT_EQ(verdicts.results.size(), 3U);
  EXPECT_EQ(verdicts.results[0].answer, Answer::kFail);
  EXPECT_EQ(verdicts.results[1].answer, Answer::kPass);
  EXPECT_EQ(verdicts.results[2].answer, Answer::kPass);
  EXPECT_EQ(verdicts.results[2].samples_after, 0U);
}

TEST(Gates, RunsThatDifferByThemselvesDoNotFail) {
  // Counted totals with a run-to-run deviation of about 10 %.
  const auto total = [](int samples) { return run_with({{"make", samples}}); };
  const Runs before{total(900), total(1000), total(1100)};
  const Runs after{total(960), total(1060), total(1190)};
  const Gates gates = growth_of_total(0.05);
  EXPECT_EQ(answers(before, after, gates).answer, Answer::kUndecided);
  EXPECT_EQ(answers({before[0]}, {after[0]}, gates).answer, Answer::kFail)
      << "of these two runs, which are counted, that is true";
  const Runs doubled{total(1900), total(2000), total(2100)};
  EXPECT_EQ(answers(before, doubled, gates).answer, Answer::kFail);
  const Runs halved{total(480), total(500), total(530)};
  EXPECT_EQ(answers(before, halved, gates).answer, Answer::kPass);
}

TEST(Gates, WrongFailsAndPassesAreAsRareAsPromised) {
  // The true growth is the limit itself, so that both answers are wrong: each with at
  // most 5 %. 600 comparisons; the bound is 5 % + 3.5 standard errors (.089 each; false
  // alarm < 1e-3).
  std::mt19937_64 random(3);
  std::poisson_distribution<int> before(200), after(240);
  const Gates gates = growth_of_total(0.2);
  int fails = 0, passes = 0;
  constexpr int kRuns = 600;
  for (int i = 0; i < kRuns; ++i) {
    const Answer answer = total_answer(before(random), after(random), gates, Kind::kLiveAtEnd);
    fails += answer == Answer::kFail;
    passes += answer == Answer::kPass;
  }
  const double bound = 0.05 + 3.5 * std::sqrt(0.05 * 0.95 / kRuns);
  EXPECT_LE(fails, bound * kRuns);
  EXPECT_LE(passes, bound * kRuns);
  EXPECT_GE(fails + passes, 0.04 * kRuns) << "the gate never answers";
}

TEST(Gates, SayWhyTheyCannotAnswer) {
  const auto run = run_with({{"make", 40}});
  const std::vector<Pattern> whole{{}};
  const auto collected = [&](const Runs& before, const Runs& after) {
    return collect_runs(before, after, Kind::kAllocated, whole);
  };
  EXPECT_EQ(check_comparable(collected({}, {run}), growth_of_total(0.1)).reason(),
            "one side has no runs");
  EXPECT_EQ(check_comparable(collected({run}, {}), growth_of_total(0.1)).reason(),
            "one side has no runs");
  EXPECT_TRUE(check_comparable(collected({}, {run}), bytes_of_total(1)).has_value());
  Gates gates = bytes_of_total(1);
  for (const double level : {0.5, 0.2, 1.0, std::nan("")}) {
    gates.level = level;
    EXPECT_EQ(check_comparable(collected({}, {run}), gates).reason(),
              "the confidence level of a gate must be between 50 % and 100 %");
  }
  EXPECT_EQ(check_comparable(collected({run}, {run_with({{"other", 40}})}), growth_of_total(0.1))
                .reason(),
            "the two sides have nothing in common: are they runs of the same program?");
}

}  // namespace
}  // namespace geiger::compare
