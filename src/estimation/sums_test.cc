#include "estimation/sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "estimation/estimate.h"

namespace geiger::estimation::sums_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The reference was computed with 45 digits: a value that far below 1 is noise.
void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-12 * std::abs(expected) + 1e-35) << what;
}

nlohmann::json vectors() {
  return nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
}

TEST(NodeSums, GivesTheReferenceWeights) {
  int compared = 0;
  const nlohmann::json rows = vectors()["ht_weights"];
  for (const auto& row : rows) {
    const double interval = row["T"];
    const double lambda =
        row["convention"] == "poisson" ? 1 / interval : rate_of_interval(interval);
    expect_near(lambda, row["lambda"], row.dump());
    NodeSums sums;
    sums.add(row["size"].get<Bytes>(), lambda);
    if (std::isinf(lambda)) continue;  // Certain: tested below.
    expect_near(inclusion_probability(row["size"].get<Bytes>(), lambda), row["pi"], row.dump());
    expect_near(sums.weighted_bytes, row["w"], row.dump());
    expect_near(sums.bytes_variance, row["v"], row.dump());
    expect_near(sums.objects, row["count"], row.dump());
    expect_near(sums.objects_variance, row["vc"], row.dump());
    expect_near(sums.largest_object_weight, row["count"], row.dump());
    expect_near(sums.largest_interval, 1 / lambda, row.dump());
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

// If another property y of the objects is summed, the weights stay those of the size.
TEST(NodeSums, SumsAValueInPlaceOfTheSize) {
  const double lambda = rate_of_interval(1000);
  for (const Bytes size : {Bytes{10}, Bytes{700}, Bytes{4000}}) {
    NodeSums plain;
    plain.add(size, lambda, 3);
    for (const Bytes value : {Bytes{1}, size / 2, size, 3 * size}) {
      NodeSums sums;
      sums.add(size, lambda, 3, 1.0, value);
      const double ratio = static_cast<double>(value) / static_cast<double>(size);
      expect_near(sums.bytes_seen, ratio * plain.bytes_seen, "B");
      expect_near(sums.weighted_bytes, ratio * plain.weighted_bytes, "Y");
      expect_near(sums.bytes_variance, ratio * ratio * plain.bytes_variance, "V");
      expect_near(sums.largest_weight, ratio * plain.largest_weight, "largest weight");
      // Objects are counted as usual.
      EXPECT_EQ(sums.samples, plain.samples);
      EXPECT_EQ(sums.objects, plain.objects);
      EXPECT_EQ(sums.objects_variance, plain.objects_variance);
      EXPECT_EQ(sums.largest_object_weight, plain.largest_object_weight);
      // A missed object may have a larger value than its size, a seen one a smaller.
      expect_near(sums.largest_interval, std::max(ratio, 1.0) / lambda, "E");
      expect_near(sums.smallest_interval, ratio / lambda, "E_least");
    }
  }
}

TEST(NodeSums, SumsNothingOfValueZero) {
  NodeSums sums;
  sums.add(64, 0.01, 5, 1.0, 0);
  sums.add(64, kInfinity, 5, 1.0, 0);
  EXPECT_EQ(sums, NodeSums{});
}

TEST(NodeSums, SumsTheValueOfWhatIsCertain) {
  NodeSums sums;
  sums.add(4096, kInfinity, 2, 1.0, 100);
  EXPECT_EQ(sums.certain_samples, 2U);
  EXPECT_EQ(sums.certain_bytes, 200);
  EXPECT_EQ(sums.samples, 0U);
}

TEST(NodeSums, AddsACountAsThatManySamples) {
  NodeSums one_by_one, at_once;
  for (int i = 0; i < 1000; ++i) one_by_one.add(48, 1e-5);
  at_once.add(48, 1e-5, 1000);
  EXPECT_EQ(at_once.samples, 1000U);
  EXPECT_EQ(one_by_one.samples, 1000U);
  expect_near(at_once.bytes_seen, one_by_one.bytes_seen, "B");
  expect_near(at_once.weighted_bytes, one_by_one.weighted_bytes, "Y");
  expect_near(at_once.bytes_variance, one_by_one.bytes_variance, "V");
  expect_near(at_once.objects_variance, one_by_one.objects_variance, "VC");
}

TEST(NodeSums, MergesByAddingAndByTheMaximum) {
  NodeSums small, large, both;
  small.add(16, rate_of_interval(1024));
  small.add_certain(5000, 2);
  large.add(100000, rate_of_interval(1 << 20), 3);
  both.add(16, rate_of_interval(1024));
  both.add_certain(5000, 2);
  both.add(100000, rate_of_interval(1 << 20), 3);
  NodeSums merged = large;
  merged.merge(small);
  EXPECT_EQ(merged.samples, 4U);
  EXPECT_EQ(merged.certain_samples, 2U);
  EXPECT_EQ(merged.certain_bytes, 10000);
  expect_near(merged.weighted_bytes, both.weighted_bytes, "Y");
  expect_near(merged.bytes_variance, both.bytes_variance, "V");
  expect_near(merged.objects, both.objects, "C");
  EXPECT_EQ(merged.largest_interval, both.largest_interval);
  EXPECT_EQ(merged.largest_object_weight, both.largest_object_weight);
  EXPECT_EQ(merged.bytes_seen, both.bytes_seen);
  EXPECT_EQ(merged.smallest_interval, both.smallest_interval);
  EXPECT_EQ(merged.smallest_interval, small.smallest_interval);
  small.merge({});
  EXPECT_EQ(merged.smallest_interval, small.smallest_interval);
}

// They are sampled like one byte, and have no bytes to sum.
TEST(NodeSums, CountsObjectsWithoutBytes) {
  const double lambda = rate_of_interval(1024);
  NodeSums empty, byte;
  empty.add(0, lambda, 3);
  byte.add(1, lambda, 3);
  EXPECT_EQ(empty.samples, 3U);
  EXPECT_EQ(empty.objects, byte.objects);
  EXPECT_EQ(empty.objects_variance, byte.objects_variance);
  EXPECT_EQ(empty.largest_object_weight, byte.largest_object_weight);
  EXPECT_EQ(empty.bytes_seen, 0);
  EXPECT_EQ(empty.weighted_bytes, 0);
  EXPECT_EQ(empty.bytes_variance, 0);
  EXPECT_EQ(empty.largest_interval, byte.largest_interval);
  EXPECT_GT(empty.smallest_interval, 0);
  EXPECT_LT(empty.smallest_interval, 1e-9);
  // Usable bytes from the allocator.
  empty = {};
  empty.add(0, lambda, 1, 1.0, 24);
  expect_near(empty.weighted_bytes, 24 * 1024, "Y");
  expect_near(empty.largest_interval, 24 / lambda, "E");
}

// Neither form of the interval has bytes of them: the result is that without samples.
TEST(NodeSums, BoundTheBytesOfObjectsWithoutBytes) {
  NodeSums sums;
  sums.add(0, rate_of_interval(1024), 2);
  NodeSums none;
  none.could_have_sampled(sums.largest_interval);
  for (const Form form : {Form::kTotal, Form::kListed}) {
    const Estimate bytes = estimate_bytes(sums, 0.95, form);
    EXPECT_EQ(bytes.value, 0);
    EXPECT_EQ(bytes.interval.lo, 0);
    expect_near(bytes.interval.hi, estimate_bytes(none, 0.95).interval.hi, "hi");
    EXPECT_EQ(estimate_objects(sums, 0.95, form).samples, 2U);
  }
  sums.add(64, rate_of_interval(1024));
  const Estimate mixed = estimate_bytes(sums, 0.95, Form::kListed);
  EXPECT_GT(mixed.value, 64);
  EXPECT_LT(mixed.interval.lo, mixed.value);
  EXPECT_GT(mixed.interval.hi, mixed.value);
}

// T = 1: nothing can be missed, so E, V and s are 0.
TEST(NodeSums, EveryByteDrawnIsCertain) {
  NodeSums sums;
  sums.add(100, rate_of_interval(1), 7);
  sums.could_have_sampled(1);
  sums.add(0, rate_of_interval(1), 2);
  EXPECT_EQ(rate_of_interval(1), kInfinity);
  EXPECT_EQ(sums.samples, 0U);
  EXPECT_EQ(sums.certain_samples, 9U);
  EXPECT_EQ(sums.certain_bytes, 700);
  EXPECT_EQ(sums.largest_interval, 0);
  EXPECT_EQ(sums.weighted_bytes, 0);
}

// Corrupt records may contain any numbers.
TEST(NodeSums, IgnoresWhatCannotHaveBeenSampled) {
  NodeSums sums;
  sums.add(16, 0);
  sums.add(16, -1);
  sums.add(16, std::nan(""));
  sums.add(16, 1e-5, 0);
  sums.add(16, 1e-5, 1, 0);
  sums.add(16, 1e-5, 1, std::nan(""));
  EXPECT_EQ(sums.samples, 0U);
  EXPECT_EQ(sums.weighted_bytes, 0);
  EXPECT_EQ(sums.largest_interval, 0);
}

TEST(NodeSums, RemembersTheLargestIntervalThatMissed) {
  NodeSums sums;
  sums.could_have_sampled(1024);
  sums.could_have_sampled(64);
  sums.could_have_sampled(std::nan(""));
  EXPECT_EQ(sums.largest_interval, 1024);
}

TEST(NodeSums, ThinnedSamplesWeighMore) {
  const double lambda = rate_of_interval(4096);
  const double pi = 0.5 * inclusion_probability(3000, lambda);
  NodeSums sums;
  sums.add(3000, lambda, 1, 0.5);
  expect_near(sums.weighted_bytes, 3000 / pi, "w");
  expect_near(sums.objects, 1 / pi, "1/pi");
  expect_near(sums.bytes_variance, 3000.0 * 3000 * (1 - pi) / pi / pi, "v");
  expect_near(sums.objects_variance, (1 - pi) / pi / pi, "vc");
  // P(no sample) of one such object is e^(-z/E).
  expect_near(std::exp(-3000 / sums.largest_interval), 1 - pi, "E");
  EXPECT_GT(sums.largest_interval, 2 * 4096);
}

TEST(NodeSums, ThinnedAtIntervalOneIsACoin) {
  NodeSums sums;
  sums.add(10, kInfinity, 1, 0.5);
  EXPECT_EQ(sums.samples, 1U);
  expect_near(sums.weighted_bytes, 20, "w");
  expect_near(sums.bytes_variance, 200, "v");
}

TEST(NodeSums, RestIsWhatThePartLacks) {
  NodeSums part, other, whole;
  part.add(16, rate_of_interval(1024), 3);
  part.add_certain(5000, 2);
  other.add(900, rate_of_interval(1024), 7);
  other.add_certain(4000);
  whole.merge(part);
  whole.merge(other);
  const NodeSums rest = rest_of(part, whole);
  EXPECT_EQ(rest.samples, 7U);
  EXPECT_EQ(rest.certain_bytes, 4000);
  expect_near(rest.weighted_bytes, other.weighted_bytes, "Y");
  EXPECT_NEAR(rest.bytes_variance, other.bytes_variance, 1e-9 * whole.bytes_variance);
  EXPECT_EQ(rest.largest_interval, whole.largest_interval);
  const NodeSums none = rest_of(whole, whole);
  EXPECT_EQ(none.samples, 0U);
  EXPECT_EQ(none.weighted_bytes, 0);
  EXPECT_EQ(none.bytes_variance, 0);
  EXPECT_EQ(none.certain_bytes, 0);
  EXPECT_EQ(none.largest_interval, whole.largest_interval);
  EXPECT_EQ(rest_of(whole, part).weighted_bytes, 0) << "never negative";
}

/// Samples and certain objects, some of them open.
NodeSums of_everything(std::uint64_t count) {
  NodeSums sums;
  sums.add(100, 1e-3, count);
  sums.add_certain(5000, count);
  NodeSums unknown;
  unknown.add(700, 1e-3, count);
  unknown.add_certain(9000, count);
  sums.leave_open(unknown);
  return sums;
}

// Doubling is exact, so that sums of twice as many are the doubled ones to the bit.
TEST(NodeSums, EveryFieldIsMergedAndTakenAway) {
  NodeSums merged = of_everything(3);
  merged.merge(of_everything(3));
  EXPECT_EQ(merged, of_everything(6));
  NodeSums rest = rest_of(of_everything(3), of_everything(6));
  rest.largest_weight = of_everything(3).largest_weight;  // Unknown for a rest.
  EXPECT_EQ(rest, of_everything(3));
}

TEST(NodeSums, AtMostHasWhatIsOpen) {
  const NodeSums most = of_everything(3).at_most();
  EXPECT_FALSE(most.has_open());
  EXPECT_EQ(most.samples, 6U);
  EXPECT_EQ(most.certain_bytes, 3 * (5000 + 9000));
  NodeSums known;
  known.add(100, 1e-3, 3);
  known.add(700, 1e-3, 3);
  EXPECT_EQ(most.weighted_bytes, known.weighted_bytes);
  EXPECT_EQ(most.objects_variance, known.objects_variance);
}

}  // namespace
}  // namespace geiger::estimation::sums_test
