// Runs that were exposed for different lengths, and means over windows, through the collector.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/compare/gates.h"
#include "analysis/compare/test_sides.h"

namespace geiger::compare {
namespace {

using profile::Kind;
using profile::TestRecording;

constexpr double kInterval = kTestInterval;

struct Exposed {
  TestRecording run;
  double exposure = 1;
};

Collected collect(const std::vector<Exposed>& before, const std::vector<Exposed>& after,
                  Kind kind = Kind::kAllocated, double averaged_over = 1) {
  Collector collector(kind, {}, {Pattern{}});
  const auto add = [&](Which which, const std::vector<Exposed>& runs) {
    for (const Exposed& each : runs) {
      profile::Profile profile = profile::select(each.run.recording, kind);
      profile.averaged_over = averaged_over;
      EXPECT_TRUE(collector.add(which, each.run.recording, profile, each.exposure).has_value());
    }
  };
  add(Which::kBefore, before);
  add(Which::kAfter, after);
  return collector.finish();
}

Exposed hours(int exposure, int samples_an_hour) {
  return {run_with({{"make", exposure * samples_an_hour}}), static_cast<double>(exposure)};
}

Gates growth_of_total(double most) {
  return {{{{}, {Measured::kGrowth, most}, "test"}}, {}, std::nullopt, 0.95};
}
Gates bytes_of_total(double most) {
  return {{{{}, {Measured::kBytes, most}, "test"}}, {}, std::nullopt, 0.95};
}

TEST(ExposedRuns, AreComparedPerUnit) {
  const Collected collected = collect({hours(2, 100)}, {hours(6, 100)});
  const Comparison comparison = compare(collected, 0.95);
  EXPECT_NEAR(comparison.rows[0].before.value, 100 * kInterval, 10 * kInterval);
  EXPECT_NEAR(comparison.rows[0].change.value, 0, 1e-6);
  EXPECT_EQ(comparison.rows[0].verdict, Verdict::kNoise);
  EXPECT_EQ(comparison.exact->before, 100 * kInterval);
  EXPECT_EQ(comparison.exact->after, 100 * kInterval);
  EXPECT_EQ(collected.after.exposure(), 6);
}

TEST(ExposedRuns, CountByTheirExposure) {
  const Collected collected =
      collect({hours(1, 100), hours(1, 100)}, {hours(1, 40), hours(9, 140)});
  const Comparison comparison = compare(collected, 0.95);
  EXPECT_NEAR(comparison.rows[0].change.value, 30 * kInterval, 2 * kInterval);
  ASSERT_TRUE(comparison.run_deviation);
}

TEST(ExposedRuns, AreHeldToLimitsPerUnit) {
  for (const bool has_several : {false, true}) {
    std::vector<Exposed> before{hours(2, 1000)}, after{hours(6, 1050)};
    if (has_several) {
      before = {hours(2, 1000), hours(3, 1000), hours(1, 1000)};
      after = {hours(6, 1050), hours(1, 1050), hours(2, 1050)};
    }
    for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd}) {
      const Collected collected = collect(before, after, kind);
      EXPECT_EQ(check(collected, growth_of_total(0.2)).answer, Answer::kPass);
      EXPECT_EQ(check(collected, growth_of_total(-0.1)).answer, Answer::kFail);
      const Verdicts bytes = check(collected, bytes_of_total(1200 * kInterval));
      EXPECT_EQ(bytes.answer, Answer::kPass);
      EXPECT_NEAR(*bytes.results[0].value, 1050 * kInterval, 10 * kInterval);
      EXPECT_EQ(check(collected, bytes_of_total(900 * kInterval)).answer, Answer::kFail);
    }
  }
}

TEST(ExposedRuns, NeedAPositiveExposure) {
  const TestRecording test = run_with({{"make", 3}});
  const profile::Profile profile = profile::select(test.recording, Kind::kAllocated);
  Collector collector(Kind::kAllocated, {});
  for (const double exposure : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(collector.add(Which::kAfter, test.recording, profile, exposure).reason(),
              "the exposure of a run must be a positive number");
  }
}

// The means of two windows: half of what was counted, certain objects that are uneven included.
TEST(MeanRuns, AreHalfOfTwoInstants) {
  TestRecording fine = run_with({{"make", 200}}, 1024), coarse = run_with({{"make", 20}}, 8192);
  fine.sample(0, 4096).is_certain = true;
  const Collected sums = collect({{fine}}, {{coarse}}, Kind::kLiveAtEnd);
  const Collected means = collect({{fine}}, {{coarse}}, Kind::kLiveAtEnd, 2);
  EXPECT_EQ(sums.sites[0].before.uneven_bytes, 4096);
  EXPECT_EQ(means.sites[0].before.uneven_bytes, 2048);
  EXPECT_EQ(means.sites[0].before.sums.certain_bytes, 2048);
  EXPECT_DOUBLE_EQ(means.sites[0].before.sums.weighted_bytes,
                   sums.sites[0].before.sums.weighted_bytes / 2);
  EXPECT_EQ(means.sites[0].before.sums.largest_interval,
            sums.sites[0].before.sums.largest_interval);
}

// Hosts vary by 30 %, exposures by a lognormal law with sigma .7, and the true growth is the limit:
// fails and passes are both wrong. 600 comparisons: the standard error of .05 is .0089, of which
// 4.5 (one-sided 3e-6) make .09.
TEST(ExposedRuns, AreAnsweredWronglyAsRarelyAsPromised) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  const auto host = [&](double samples) {
    const double exposure = std::exp(0.7 * normal(generator));
    const double rate = std::exp(0.3 * normal(generator) - 0.045);
    std::poisson_distribution<int> law(samples * exposure * rate);
    return Exposed{run_with({{"make", law(generator)}}), exposure};
  };
  constexpr int kComparisons = 600;
  int fails = 0, passes = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<Exposed> before, after;
    for (int j = 0; j < 8; ++j) before.push_back(host(40));
    for (int j = 0; j < 12; ++j) after.push_back(host(48));
    const Collected collected = collect(before, after, Kind::kLiveAtEnd);
    const Answer answer = check(collected, growth_of_total(0.2)).answer;
    fails += answer == Answer::kFail;
    passes += answer == Answer::kPass;
  }
  EXPECT_LE(fails, 0.09 * kComparisons);
  EXPECT_LE(passes, 0.09 * kComparisons);
}

}  // namespace
}  // namespace geiger::compare
