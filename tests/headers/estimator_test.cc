// The estimates of the public header are those of geiger's own reports.
#include "geiger/estimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::sampling {
namespace {

void expect_same(const Estimate& ours, const estimation::Estimate& reports) {
  EXPECT_EQ(ours.samples, reports.samples);
  EXPECT_NEAR(ours.value, reports.value, 1e-12 * reports.value);
  EXPECT_NEAR(ours.lowest, reports.interval.lo, 1e-8 * reports.interval.lo + 1e-30);
  EXPECT_NEAR(ours.highest, reports.interval.hi, 1e-8 * reports.interval.hi);
}

// 300 compositions: none to 10^6 samples of up to four sizes, from bytes to 10 T, with intervals 1
// to 1024 apart.
TEST(Estimator, AgreesWithReports) {
  std::mt19937_64 random(4);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int i = 0; i < 300; ++i) {
    Estimator estimator;
    estimation::NodeSums sums;
    for (std::uint64_t group = below(5); group > 0; --group) {
      const double lambda =
          estimation::rate_of_interval(std::exp2(6 + static_cast<double>(below(11))));
      const auto size = static_cast<Bytes>(std::exp2(static_cast<double>(below(20))) - 1);
      const std::uint64_t count = below(3) == 0 ? 0 : std::uint64_t{1} << below(20);
      Estimator part;
      part.add(size, lambda, count);
      part.could_have_sampled(lambda);
      estimator.merge(part);
      sums.add(size, lambda, count);
      sums.could_have_sampled(1 / lambda);
    }
    if (below(2) == 0) {
      estimator.add_certain(1 << 20, 3);
      sums.add_certain(1 << 20, 3);
    }
    for (const double level : {0.5, 0.95, 0.999}) {
      SCOPED_TRACE(i);
      expect_same(estimator.bytes(level), estimate_bytes(sums, level));
      expect_same(estimator.objects(level), estimate_objects(sums, level));
    }
  }
}

TEST(Estimator, IsExactWhereNothingCanBeMissed) {
  Estimator estimator;
  estimator.add(100, std::numeric_limits<double>::infinity(), 3);
  const Estimate bytes = estimator.bytes();
  EXPECT_EQ(bytes.lowest, 300);
  EXPECT_EQ(bytes.highest, 300);
  EXPECT_EQ(estimator.objects().highest, 3);
}

TEST(Estimator, TakesAnyLevel) {
  Estimator estimator;
  estimator.add(100, 1e-3, 3);
  for (const double level : {-1.0, 0.0, 1.0, 2.0, std::nan("")}) {
    const Estimate bytes = estimator.bytes(level);
    EXPECT_LE(bytes.lowest, bytes.value);
    EXPECT_GE(bytes.highest, bytes.value);
  }
  EXPECT_EQ(Estimator().bytes().highest, 0);
}

}  // namespace
}  // namespace geiger::sampling
