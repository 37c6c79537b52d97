#include "estimation/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "estimation/test_sums.h"

namespace geiger::estimation::difference_test {
namespace {

constexpr double kT = 524288;

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-10 * std::abs(expected)) << what;
}

TEST(Difference, GivesTheReference) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  ASSERT_EQ(vectors["difference"].size(), 8U);
  for (const auto& row : vectors["difference"]) {
    const std::string name = row["sA"].dump() + " to " + row["sB"].dump();
    const Difference d = difference({.sums = tiny(row["sA"], row["TA"])},
                                    {.sums = tiny(row["sB"], row["TB"])}, 0.95);
    expect_near(d.value, row["diff"], name);
    expect_near(d.p_value, row["p_mid"], name + " mid");
    expect_near(d.exact_p_value, row["p_exact"], name + " exact");
    expect_near(d.interval.lo, row["mover_0_05"][0], name + " low");
    expect_near(d.interval.hi, row["mover_0_05"][1], name + " high");
  }
}

// The weights of the coarser side do not indicate large objects on the finer one.
TEST(Difference, OfDifferentIntervalsHasTheEventsOfEach) {
  for (const std::uint64_t samples : {10U, 150U}) {
    Side coarse, fine;
    coarse.sums.add(1, 1 / kT, 6);
    fine.sums.add(1, 16 / kT, samples);
    const Side tiny_coarse{.sums = tiny(6, kT)}, tiny_fine{.sums = tiny(samples, kT / 16)};
    const double p = difference(coarse, fine, 0.95).exact_p_value;
    EXPECT_NEAR(p / difference(tiny_coarse, tiny_fine, 0.95).exact_p_value, 1, 1e-3) << samples;
  }
}

TEST(Difference, ReversesWithItsSides) {
  const Side a{.sums = tiny(7, kT)}, b{.sums = tiny(19, kT / 4), .exposure = 3};
  const Difference there = difference(a, b, 0.95), back = difference(b, a, 0.95);
  expect_near(there.value, -back.value, "value");
  expect_near(there.interval.lo, -back.interval.hi, "interval");
  expect_near(there.p_value, back.p_value, "mid");
  expect_near(there.exact_p_value, back.exact_p_value, "exact");
}

// k runs at T are one run at T/k of k times the program.
TEST(Difference, RunsAreASmallerInterval) {
  const Difference runs =
      difference({.sums = tiny(40, kT), .exposure = 4}, {.sums = tiny(9, kT), .exposure = 1}, 0.95);
  const Difference interval = difference({.sums = tiny(40, kT / 4)}, {.sums = tiny(9, kT)}, 0.95);
  expect_near(runs.value, interval.value, "value");
  expect_near(runs.interval.lo, interval.interval.lo, "low");
  expect_near(runs.interval.hi, interval.interval.hi, "high");
  expect_near(runs.p_value, interval.p_value, "p");
  expect_near(runs.detectable, interval.detectable, "detectable");
}

TEST(Difference, CertainPartsDifferWithoutError) {
  Side a{.sums = tiny(5, kT)}, b{.sums = tiny(9, kT)};
  const Difference sampled = difference(a, b, 0.95);
  a.sums.add_certain(1000000, 3);
  b.sums.add_certain(1000000, 7);
  const Difference both = difference(a, b, 0.95);
  EXPECT_EQ(both.certain, 4e6);
  expect_near(both.value, sampled.value + 4e6, "value");
  expect_near(both.interval.lo, sampled.interval.lo + 4e6, "low");
  expect_near(both.interval.hi, sampled.interval.hi + 4e6, "high");
  EXPECT_EQ(both.p_value, sampled.p_value);
}

TEST(Difference, WithoutDoubtIsAPoint) {
  Side a, b;
  a.sums.add_certain(100, 3);
  b.sums.add_certain(100, 5);
  const Difference d = difference(a, b, 0.95);
  EXPECT_EQ(d.value, 200);
  EXPECT_EQ(d.interval.lo, 200);
  EXPECT_EQ(d.interval.hi, 200);
  EXPECT_EQ(d.p_value, 1);
  EXPECT_EQ(d.detectable, 0);
}

// Objects of T/2 that the finer side records with certainty and the coarser one samples: 40 of them
// before and 16 samples after (40 pi = 15.7) are not a change.
TEST(Difference, ObjectsBetweenTwoIntervalsAreComparedByTheirBytes) {
  constexpr Bytes kSize = 262144;
  Side before{.sums = {}, .uneven_bytes = 40.0 * kSize}, after;
  before.sums.add_certain(kSize, 40);
  before.sums.could_have_sampled(kT / 4);
  after.sums.add(kSize, 1 / kT, 16);
  const Difference same = difference(before, after, 0.95);
  EXPECT_EQ(same.certain, 0);
  EXPECT_GT(same.p_value, 0.5);
  EXPECT_EQ(smallest_attainable_p(before, after), 0);
  // As certain bytes, they would seem to be gone, and the samples new.
  before.uneven_bytes = 0;
  EXPECT_LT(difference(before, after, 0.95).p_value, 1e-3);
}

TEST(Difference, AgainstACompleteRecordingTestsAKnownNumber) {
  // Before: everything seen, ten intervals. After: nothing in T.
  Side before{.sums = {}, .uneven_bytes = 10 * kT};
  before.sums.add_certain(static_cast<Bytes>(kT), 10);
  Side after;
  after.sums.could_have_sampled(kT);
  const Difference gone = difference(before, after, 0.95);
  expect_near(gone.exact_p_value, 2 * std::exp(-10), "exact");
  expect_near(gone.p_value, 2 * std::exp(-10), "no mid-p against a known number");
  // Nothing on either side, one side complete.
  EXPECT_EQ(difference({}, after, 0.95).p_value, 1);
  EXPECT_EQ(difference(after, {}, 0.95).exact_p_value, 1);
  EXPECT_EQ(difference({}, {}, 0.95).p_value, 1);
}

TEST(Difference, EqualConstantsAreNoChange) {
  Side side{.sums = {}, .uneven_bytes = 700};
  side.sums.add_certain(100, 7);
  EXPECT_EQ(difference(side, side, 0.95).p_value, 1);
  EXPECT_EQ(difference(side, side, 0.95).exact_p_value, 1);
}

TEST(SmallestAttainableP, IsThatOfTheMostExtremeSplit) {
  for (std::uint64_t n = 1; n < 12; ++n) {
    for (std::uint64_t s = 0; s <= n; ++s) {
      EXPECT_EQ(smallest_attainable_p({.sums = tiny(s, kT)}, {.sums = tiny(n - s, kT)}),
                std::ldexp(1.0, -static_cast<int>(n)));
    }
    const Side none{.sums = tiny(0, kT / 4)}, all{.sums = tiny(n, kT)};
    const double least = smallest_attainable_p(none, all);
    expect_near(difference(none, all, 0.95).p_value, least, "one in five");
    EXPECT_LT(least, smallest_attainable_p(none, {.sums = tiny(n - 1, kT)}));
  }
  EXPECT_EQ(smallest_attainable_p({}, {}), 1);
}

// Numbers that no recording produces, but that a damaged one may.
TEST(Difference, IsNeverNanAndAlwaysInOrder) {
  std::mt19937_64 generator(1);
  const double values[] = {0,     1e-320, 1e-30,       1,
                           16,    1e6,    1e12,        1e80,
                           1e160, 1e300,  1e308,       std::numeric_limits<double>::max(),
                           -1,    -1e300, std::nan("")};
  const double levels[] = {0.95, 0.5, 0.01, 1e-17, 1 - 1e-15, 0, 1, -3, 7, std::nan("")};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  const auto side = [&] {
    Side any_side;
    NodeSums& sums = any_side.sums;
    sums.samples = generator() % 4;
    sums.certain_samples = generator() % 3;
    for (double* const field :
         {&sums.certain_bytes, &sums.bytes_seen, &sums.weighted_bytes, &sums.bytes_variance,
          &sums.largest_interval, &sums.largest_weight}) {
      *field = any();
    }
    const double exposures[] = {0, 1, 2, 3, 0x1p-30, 0x1p60, -1, std::nan("")};
    any_side.exposure = exposures[generator() % std::size(exposures)];
    any_side.uneven_bytes = any();
    return any_side;
  };
  for (int i = 0; i < 30000; ++i) {
    const Side a = side(), b = side();
    const double level = levels[generator() % std::size(levels)];
    const Difference d = difference(a, b, level);
    ASSERT_TRUE(std::isfinite(d.value) && std::isfinite(d.certain)) << i;
    ASSERT_TRUE(std::isfinite(d.detectable) && d.detectable >= 0) << i;
    ASSERT_TRUE(std::isfinite(d.interval.lo) && d.interval.lo <= d.value) << i;
    ASSERT_TRUE(std::isfinite(d.interval.hi) && d.interval.hi >= d.value) << i;
    ASSERT_TRUE(d.p_value >= 0 && d.p_value <= d.exact_p_value && d.exact_p_value <= 1) << i;
    const double least = smallest_attainable_p(a, b);
    ASSERT_TRUE(least >= 0 && least <= 1) << i;
  }
}

TEST(OpenSamples, AreNothingOrAllOfThemOnEitherSide) {
  Side gone, kept, empty;
  for (Side* side : {&gone, &kept, &empty}) side->sums.could_have_sampled(1000);
  NodeSums samples;
  samples.add(10, 1e-3, 400);
  gone.sums.merge(samples);
  kept.sums.leave_open(samples);
  const Difference certain = difference(gone, empty, 0.95);
  const Difference open = difference(gone, kept, 0.95);
  EXPECT_LT(certain.p_value, 1e-9);
  EXPECT_EQ(open.p_value, 1) << "the same bytes may be there";
  EXPECT_EQ(open.value, certain.value);
  EXPECT_DOUBLE_EQ(open.interval.lo, certain.interval.lo);
  EXPECT_GT(open.interval.hi, 0);
  EXPECT_NEAR(open.reach.hi, 0, 1e-6);
  kept.sums.open = {};
  samples.add(10, 1e-3, 3600);
  kept.sums.merge(samples);
  gone.sums.leave_open(gone.sums);
  EXPECT_LT(difference(gone, kept, 0.95).p_value, 1e-9) << "it grew whatever the open samples are";
}

TEST(OpenSamples, RecordedWithCertaintyAreTested) {
  Side before, after;
  for (Side* side : {&before, &after}) side->sums.could_have_sampled(1000);
  after.sums.add(10, 1e-3, 400);
  NodeSums certain;
  certain.add_certain(390'000);
  before.sums.leave_open(certain);
  EXPECT_GT(difference(before, after, 0.95).p_value, 0.05);
}

}  // namespace
}  // namespace geiger::estimation::difference_test
