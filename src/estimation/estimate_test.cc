#include "estimation/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "estimation/distributions/gamma.h"

namespace geiger::estimation::estimate_test {
namespace {

constexpr double kT = 524288;

nlohmann::json vectors() {
  return nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
}

// The reference was computed with 45 digits: a value that far below 1 is noise.
void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-10 * std::abs(expected) + 1e-35) << what;
}

void expect_interval(const Interval& interval, const nlohmann::json& expected,
                     const std::string& what) {
  expect_near(interval.lo, expected[0], what);
  expect_near(interval.hi, expected[1], what);
}

// "samples" is [[size, T], ...], a last entry "x100" repeats the one before.
NodeSums sums_of(const nlohmann::json& site) {
  NodeSums sums;
  sums.could_have_sampled(site["E"].get<double>());
  if (!site.contains("samples")) return sums;
  for (const auto& sample : site["samples"]) {
    if (sample.is_string()) {
      const auto& repeated = site["samples"][0];
      const std::uint64_t times = std::stoull(sample.get<std::string>().substr(1));
      sums.add(repeated[0].get<Bytes>(), 1 / repeated[1].get<double>(), times - 1);
    } else {
      sums.add(sample[0].get<Bytes>(), 1 / sample[1].get<double>());
    }
  }
  return sums;
}

// The reference conditions both limits on the largest interval. With mixed intervals that makes the
// upper limit too small (see ListedUpperLimitKnowsWhatListedTheSite), so ours is above it there.
void expect_listed(const NodeSums& sums, const nlohmann::json& expected, const std::string& name) {
  const Interval listed = estimate_bytes(sums, 0.95, Form::kListed).interval;
  expect_near(listed.lo, expected[0], name + " listed");
  if (sums.smallest_interval == sums.largest_interval) {
    expect_near(listed.hi, expected[1], name + " listed");
  } else {
    EXPECT_GT(listed.hi, expected[1].get<double>()) << name;
    EXPECT_LE(listed.hi, estimate_bytes(sums, 0.95).interval.hi) << name;
  }
}

TEST(EstimateBytes, GivesTheReferenceIntervals) {
  const nlohmann::json rows = vectors()["ffsg"];
  for (const auto& site : rows) {
    const std::string name = site["name"];
    const NodeSums sums = sums_of(site);
    EXPECT_EQ(sums.samples, site["s"].get<std::uint64_t>()) << name;
    expect_near(sums.bytes_seen, site["B"], name);
    expect_near(sums.weighted_bytes, site["Y"], name);
    expect_near(sums.bytes_variance, site["V"], name);
    for (const auto& [key, level] :
         {std::pair{"ffsg_0.05", 0.95}, {"ffsg_0.1", 0.9}, {"ffsg_0.01", 0.99}}) {
      if (site.contains(key)) {
        expect_interval(estimate_bytes(sums, level).interval, site[key], name + " " + key);
      }
    }
    if (!site.contains("ffsg_listed_0.05")) continue;
    expect_listed(sums, site["ffsg_listed_0.05"], name);
    expect_near(sums.objects, site["C"], name);
    expect_near(sums.objects_variance, site["VC"], name);
  }
}

TEST(EstimateBytes, AddsCertainObjectsWithoutError) {
  const nlohmann::json expected = vectors()["ffsg_exact_above_T"];
  NodeSums sums;
  sums.add(16, 1 / kT, 3);
  sums.add_certain(8388608, 2);
  const Estimate estimate = estimate_bytes(sums, 0.95);
  expect_near(estimate.value, expected["estimate"], "value");
  expect_near(estimate.variance, expected["V"], "variance");
  expect_interval(estimate.interval, expected["ffsg_0_05"], "interval");
  EXPECT_EQ(estimate.exact, expected["X"].get<double>());
  EXPECT_EQ(estimate.samples, 3U);
  expect_near(estimate_objects(sums, 0.95).value, expected["object_count"].get<double>() + 0.0,
              "objects");
}

TEST(EstimateBytes, NoSampleGivesTheDetectionLimit) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  for (const Form form : {Form::kTotal, Form::kListed}) {
    const Estimate nothing = estimate_bytes(sums, 0.95, form);
    EXPECT_EQ(nothing.value, 0);
    EXPECT_EQ(nothing.interval.lo, 0);
    expect_near(nothing.interval.hi, 3.6888794541139363 * kT, "3.689 E");
    expect_near(nothing.interval.hi, detection_limit(kT, 0.95), "detection limit");
  }
  sums.add_certain(1000);
  EXPECT_EQ(estimate_bytes(sums, 0.95).interval.lo, 1000);
  expect_near(estimate_bytes(sums, 0.95).interval.hi, 1000 + detection_limit(kT, 0.95), "X + ");
}

TEST(EstimateBytes, IsExactAtIntervalOne) {
  NodeSums sums;
  sums.could_have_sampled(1);
  sums.add(100, rate_of_interval(1), 7);
  sums.add_certain(50);
  for (const Form form : {Form::kTotal, Form::kListed}) {
    const Estimate bytes = estimate_bytes(sums, 0.95, form);
    EXPECT_EQ(bytes.value, 750);
    EXPECT_EQ(bytes.interval.lo, 750);
    EXPECT_EQ(bytes.interval.hi, 750);
    EXPECT_EQ(bytes.variance, 0);
    EXPECT_EQ(bytes.samples, 0U);
    const Estimate objects = estimate_objects(sums, 0.95, form);
    EXPECT_EQ(objects.value, 8);
    EXPECT_EQ(objects.interval.lo, 8);
    EXPECT_EQ(objects.interval.hi, 8);
  }
  EXPECT_EQ(detection_limit(1, 0.95), 0);
}

// An exact host merged with a sampled one that saw nothing.
TEST(EstimateBytes, MergingIntervalOneKeepsTheOthersDoubt) {
  NodeSums exact, silent;
  exact.add(100, rate_of_interval(1), 7);
  silent.could_have_sampled(kT);
  exact.merge(silent);
  EXPECT_EQ(estimate_bytes(exact, 0.95).interval.lo, 700);
  expect_near(estimate_bytes(exact, 0.95).interval.hi, 700 + detection_limit(kT, 0.95), "hi");
}

// The two limits of the listed form solve their defining equations.
TEST(EstimateBytes, ListedLimitsSolveTheConditionalEquations) {
  for (std::uint64_t s = 2; s < 20; ++s) {
    NodeSums sums;
    sums.add(64, 1 / kT, s);
    const Interval interval = estimate_bytes(sums, 0.95, Form::kListed).interval;
    const double deviation = std::sqrt(sums.bytes_variance);
    const Gamma lower{sums.weighted_bytes, deviation};
    const Gamma upper{sums.weighted_bytes - sums.bytes_seen + kT, std::hypot(deviation, kT)};
    const double shown = -std::expm1(-interval.lo / kT);
    EXPECT_NEAR(lower.below(interval.lo), 0.025 * shown, 1e-12) << s;
    const double none = std::exp(-interval.hi / kT);
    EXPECT_NEAR(upper.above(interval.hi - sums.bytes_seen) - none, 0.025 * (1 - none), 1e-12) << s;
  }
}

// One object drawn at T/32, with T in force too: it lists the site regardless of the other objects,
// so the listing does not depend on them.
TEST(EstimateBytes, ListedUpperLimitKnowsWhatListedTheSite) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  sums.add(20000, rate_of_interval(kT / 32));
  const double total = estimate_bytes(sums, 0.95).interval.hi;
  EXPECT_NEAR(estimate_bytes(sums, 0.95, Form::kListed).interval.hi, total, 1e-9 * total);
}

TEST(EstimateBytes, ListedFormIsTheTotalFormForManySamples) {
  NodeSums sums;
  sums.add(64, 1 / kT, 200);
  EXPECT_EQ(estimate_bytes(sums, 0.95, Form::kListed).interval.lo,
            estimate_bytes(sums, 0.95).interval.lo);
  EXPECT_EQ(estimate_bytes(sums, 0.95, Form::kListed).interval.hi,
            estimate_bytes(sums, 0.95).interval.hi);
}

TEST(EstimateObjects, IsExactPoissonForTinyObjects) {
  // Weights 1/pi are nearly equal: Garwood's limits times the weight.
  const double lambda = 1e-9;
  NodeSums sums;
  sums.add(16, lambda, 10);
  const Estimate objects = estimate_objects(sums, 0.95);
  const double weight = 1 / inclusion_probability(16, lambda);
  EXPECT_NEAR(objects.value, 10 * weight, 1e-6 * weight);
  EXPECT_NEAR(objects.interval.lo, gamma_quantile(10, 0.025) * weight, 1e-6 * weight);
  EXPECT_NEAR(objects.interval.hi, gamma_quantile(11, 0.975) * weight, 1e-6 * weight);
}

TEST(EstimateObjects, NeverFallsBelowWhatWasSeen) {
  NodeSums sums;
  sums.add(500000, 1 / kT, 3);
  sums.add_certain(1 << 20, 4);
  const Estimate objects = estimate_objects(sums, 0.95);
  EXPECT_GE(objects.interval.lo, 7);
  EXPECT_EQ(objects.exact, 4);
  EXPECT_LT(estimate_objects(sums, 0.95, Form::kListed).interval.hi, objects.interval.hi + 1e-9);
}

TEST(EstimateObjects, NoSampleIsBoundedByOneByteEach) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  sums.add_certain(1 << 20, 4);
  EXPECT_EQ(estimate_objects(sums, 0.95).interval.lo, 4);
  expect_near(estimate_objects(sums, 0.95).interval.hi, 4 + detection_limit(kT, 0.95), "hi");
}

TEST(ConfidenceLevel, IsCheckedByAPredicate) {
  for (const double level : {0.5, 0.95, 0.999999, 1e-300}) EXPECT_TRUE(is_confidence_level(level));
  for (const double level : {0.0, 1.0, -1.0, 2.0, std::nan("")}) {
    EXPECT_FALSE(is_confidence_level(level));
  }
}

// Numbers that no recording produces, but that a damaged one may.
TEST(Estimates, AreNeverNanAndAlwaysInOrder) {
  std::mt19937_64 generator(1);
  const double values[] = {0,    1e-320, 1e-30, 1,     16,    1e6,
                           1e12, 1e80,   1e160, 1e300, 1e308, std::numeric_limits<double>::max(),
                           -1,   -1e300};
  const double levels[] = {0.95, 0.5, 0.01, 1e-17, 1 - 1e-15, 0, 1, -3, 7, std::nan("")};
  const auto any = [&] { return values[generator() % std::size(values)]; };
  for (int i = 0; i < 30000; ++i) {
    NodeSums sums;
    sums.samples = generator() % 4;
    sums.certain_samples = generator() % 3;
    for (double* const field : {&sums.certain_bytes, &sums.bytes_seen, &sums.weighted_bytes,
                                &sums.bytes_variance, &sums.objects, &sums.objects_variance,
                                &sums.largest_interval, &sums.largest_object_weight}) {
      *field = any();
    }
    const double level = levels[generator() % std::size(levels)];
    for (const Form form : {Form::kTotal, Form::kListed}) {
      for (const Estimate& e :
           {estimate_bytes(sums, level, form), estimate_objects(sums, level, form)}) {
        ASSERT_TRUE(std::isfinite(e.value)) << i;
        ASSERT_TRUE(std::isfinite(e.variance)) << i;
        ASSERT_LE(e.interval.lo, e.value) << i;
        ASSERT_GE(e.interval.hi, e.value) << i;
        ASSERT_GE(e.interval.lo, 0) << i;
      }
    }
  }
}

TEST(Estimates, WidenWithTheLevel) {
  NodeSums sums;
  sums.add(64, 1 / kT, 5);
  for (const Form form : {Form::kTotal, Form::kListed}) {
    Interval before{sums.weighted_bytes, sums.weighted_bytes};
    for (const double level : {0.01, 0.5, 0.9, 0.95, 0.99, 0.999999}) {
      const Interval interval = estimate_bytes(sums, level, form).interval;
      EXPECT_LE(interval.lo, before.lo) << level;
      EXPECT_GE(interval.hi, before.hi) << level;
      before = interval;
    }
  }
}

TEST(SamplerZ, IsTheStandardisedBinomial) {
  EXPECT_DOUBLE_EQ(sampler_z(60, 100, 2), 2);
  EXPECT_DOUBLE_EQ(sampler_z(50, 100, 2), 0);
  EXPECT_DOUBLE_EQ(sampler_z(0, 1 << 20, 1 << 20), -1 / std::sqrt(1 - 0x1p-20));
  EXPECT_EQ(sampler_z(0, 0, 64), 0);
  EXPECT_EQ(sampler_z(10, 10, 1), 0);
}

}  // namespace
}  // namespace geiger::estimation::estimate_test
