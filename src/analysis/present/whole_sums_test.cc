#include "analysis/present/whole_sums.h"

#include <gtest/gtest.h>

#include <random>

namespace geiger::present {
namespace {

using estimation::NodeSums;

constexpr double kInterval = 4096;
const double kLambda = estimation::rate_of_interval(kInterval);

/// Draws `count` objects, each sampled by chance; the chosen ones, with `whole` raised by them.
NodeSums draw(std::mt19937_64& random, int count, Bytes size, NodeSums& whole) {
  NodeSums sums;
  sums.could_have_sampled(kInterval);
  const double pi = estimation::inclusion_probability(size, kLambda);
  for (int i = 0; i < count; ++i) {
    if (static_cast<double>(random() >> 11) * 0x1p-53 < pi) sums.add(size, kLambda);
  }
  whole.merge(sums);
  return sums;
}

/// The part of the intervals that contain the share of `count` objects of `size` bytes among 2,000
/// of 200 bytes; of those with a sample, as rows are.
double coverage(int count, Bytes size) {
  constexpr int kRuns = 1000;
  std::mt19937_64 random(17);
  const double mine = count * static_cast<double>(size);
  const double truth = mine / (mine + 2000.0 * 200.0);
  int listed = 0, covered = 0;
  while (listed < kRuns) {
    NodeSums whole;
    const NodeSums part = draw(random, count, size, whole);
    draw(random, 2000, 200, whole);
    if (part.samples == 0) continue;
    const Share share = share_of(part, whole, 0.95);
    ++listed;
    covered += share.interval.lo <= truth && truth <= share.interval.hi;
  }
  return static_cast<double>(covered) / kRuns;
}

// Where all of few large objects were seen, which is likely, the lower limit of their bytes is the
// truth. At least .95 comes out below .92 with a probability of 3e-5 at most; the seed is fixed.
TEST(Share, OfFewLargeObjectsIsCovered) {
  for (const int count : {1, 2, 3, 8}) {
    for (const double intervals : {0.2, 0.5, 0.9, 2.0, 4.0}) {
      EXPECT_GE(coverage(count, static_cast<Bytes>(intervals * kInterval)), 0.92)
          << count << " objects of " << intervals << " T";
    }
  }
}

TEST(Share, OfManySmallObjectsIsCovered) { EXPECT_GE(coverage(500, 200), 0.92); }

// All that was allocated lives, or most of it. At least .95 comes out below .92 with a probability
// of 3e-5 at most; the seed is fixed.
TEST(Live, BytesEndAtWhatWasAllocatedAndAreCovered) {
  constexpr int kRuns = 1000;
  constexpr Bytes kAllocated = 500 * 200;
  for (const int count : {500, 450, 300}) {
    std::mt19937_64 random(18);
    int ended = 0, covered = 0;
    for (int run = 0; run < kRuns; ++run) {
      NodeSums whole;
      const NodeSums part = draw(random, count, 200, whole);
      const WholeSums live(whole, std::nullopt, false, kAllocated);
      const estimation::Estimate bytes = shown_bytes(live.measure_part(part, 0.95));
      EXPECT_LE(bytes.value, kAllocated);
      EXPECT_LE(bytes.interval.lo, bytes.value);
      EXPECT_GE(bytes.interval.hi, bytes.value);
      ended += bytes.interval.hi == kAllocated;
      covered += bytes.interval.lo <= count * 200.0 && count * 200.0 <= bytes.interval.hi;
    }
    EXPECT_GE(ended, kRuns / 20);
    EXPECT_GE(covered, 0.92 * kRuns) << count;
  }
}

}  // namespace
}  // namespace geiger::present
