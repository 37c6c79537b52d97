// The coverage of calibrated intervals by exact enumeration, as for the interval
// itself (ffsg_enumeration_test.cc), over random divisions of a whole into a part
// and a rest; then sums, edges and errors.
#include "estimation/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "estimation/distributions/gamma.h"
#include "estimation/test_outcomes.h"

namespace geiger::estimation::calibration_test {
namespace {

constexpr double kT = 65536;
constexpr double kLevels[] = {0.9, 0.95, 0.99};

/// `count` objects of `size` bytes tried with their own interval.
struct Group {
  Bytes size;
  std::uint64_t count;
  double interval;
  bool is_in_part;
};

std::vector<SampledCount> outcomes_of(const Group& group) {
  const double lambda_z = rate_of_interval(group.interval) * static_cast<double>(group.size);
  return sampled_counts(group.count, lambda_z, 1e-10);
}

double bytes_of(const std::vector<Group>& groups, bool part_only) {
  double bytes = 0;
  for (const Group& group : groups) {
    if (part_only && !group.is_in_part) continue;
    bytes += static_cast<double>(group.size) * static_cast<double>(group.count);
  }
  return bytes;
}

/// Shares of the outcomes that cover the part's true bytes, per level.
struct Shares {
  double calibrated[3] = {};  ///< All outcomes.
  double listed = 0;
  double as_reported[3] = {};  ///< Outcomes that list the part: calibrated if enough samples.
};

class Enumeration {
 public:
  explicit Enumeration(const std::vector<Group>& groups)
      : groups_(groups), part_bytes_(bytes_of(groups, true)), all_bytes_(bytes_of(groups, false)) {
    NodeSums nothing;
    for (const Group& group : groups) {
      nothing.could_have_sampled(group.interval);
      outcomes_.push_back(outcomes_of(group));
    }
    visit(0, nothing, nothing, 1);
  }

  [[nodiscard]] const Shares& shares() const { return shares_; }

 private:
  void visit(std::size_t next, const NodeSums& part, const NodeSums& whole, double probability) {
    if (probability < 1e-10) return;
    if (next == groups_.size()) return tally(part, whole, probability);
    const Group& group = groups_[next];
    for (const SampledCount& outcome : outcomes_[next]) {
      NodeSums more_part = part;
      NodeSums more_whole = whole;
      const double lambda = rate_of_interval(group.interval);
      more_whole.add(group.size, lambda, outcome.samples);
      if (group.is_in_part) more_part.add(group.size, lambda, outcome.samples);
      visit(next + 1, more_part, more_whole, probability * outcome.probability);
    }
  }

  [[nodiscard]] bool holds(const Interval& interval) const {
    // Everything or nothing was seen: a limit may equal the truth, up to rounding.
    return interval.lo <= part_bytes_ * (1 + 1e-12) && part_bytes_ <= interval.hi * (1 + 1e-12);
  }

  void tally(const NodeSums& part, const NodeSums& whole, double probability) {
    if (part.samples > 0) shares_.listed += probability;
    for (int i = 0; i < 3; ++i) {
      const bool is_covered =
          holds(calibrated_bytes(part, whole, all_bytes_, kLevels[i]).value().interval);
      if (is_covered) shares_.calibrated[i] += probability;
      if (part.samples == 0) continue;
      const bool is_reported_covered =
          has_enough_to_calibrate(part)
              ? is_covered
              : holds(estimate_bytes(part, kLevels[i], Form::kListed).interval);
      if (is_reported_covered) shares_.as_reported[i] += probability;
    }
  }

  const std::vector<Group>& groups_;
  double part_bytes_, all_bytes_;
  std::vector<std::vector<SampledCount>> outcomes_;
  Shares shares_;
};

/// Part and rest each of one group of small objects, of larger ones, or of both.
class Divisions {
 public:
  Divisions(std::uint64_t seed, double most_samples, bool has_mixed_intervals)
      : generator_(seed), most_samples_(most_samples), has_mixed_(has_mixed_intervals) {}

  std::vector<Group> next() {
    for (;;) {
      std::vector<Group> groups;
      add_side(groups, true);
      add_side(groups, false);
      double outcomes = 1;
      for (const Group& group : groups) outcomes *= static_cast<double>(outcomes_of(group).size());
      if (outcomes < 4000) return groups;
    }
  }

 private:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }
  double interval() { return has_mixed_ ? kT / std::exp2(std::floor(uniform() * 6)) : kT; }

  void add_side(std::vector<Group>& groups, bool is_in_part) {
    const double kind = uniform();
    if (kind < 0.7) {
      const double t = interval();
      const auto size = static_cast<Bytes>(log_uniform(16, 2048));
      const double expected = log_uniform(0.05, most_samples_);
      groups.push_back(
          {size, static_cast<std::uint64_t>(1 + expected * t / double(size)), t, is_in_part});
    }
    if (kind < 0.7 && uniform() > 0.3) return;
    const double t = interval();
    groups.push_back({static_cast<Bytes>(t * log_uniform(0.25, 0.999)),
                      static_cast<std::uint64_t>(log_uniform(1, most_samples_)), t, is_in_part});
  }

  std::mt19937_64 generator_;
  double most_samples_;
  bool has_mixed_;
};

void expect_nominal(Divisions divisions, int count) {
  double calibrated[3] = {1, 1, 1};
  double as_reported[3] = {1, 1, 1};
  for (int n = 0; n < count; ++n) {
    const std::vector<Group> groups = divisions.next();
    const Shares shares = Enumeration(groups).shares();
    for (int i = 0; i < 3; ++i) {
      calibrated[i] = std::min(calibrated[i], shares.calibrated[i]);
      if (shares.listed < 1e-3) continue;
      as_reported[i] = std::min(as_reported[i], shares.as_reported[i] / shares.listed);
    }
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(calibrated[i], kLevels[i]);
    EXPECT_GE(as_reported[i], kLevels[i]);
  }
}

TEST(CalibrationCoverage, IsNeverBelowTheLevel) { expect_nominal(Divisions(2, 40, false), 700); }

TEST(CalibrationCoverage, IsNeverBelowTheLevelForManySamples) {
  expect_nominal(Divisions(4, 150, false), 300);
}

TEST(CalibrationCoverage, IsNeverBelowTheLevelForMergedIntervals) {
  expect_nominal(Divisions(5, 40, true), 500);
}

NodeSums small_objects(std::uint64_t samples) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  sums.add(64, rate_of_interval(kT), samples);
  return sums;
}

NodeSums large_objects(std::uint64_t samples) {
  NodeSums sums;
  sums.could_have_sampled(kT);
  sums.add(60000, rate_of_interval(kT), samples);
  return sums;
}

double width(const Interval& interval) { return interval.hi - interval.lo; }

// The purpose: 1,000 samples in all, with different shares of the part.
TEST(Calibration, NarrowsTheMoreTheLargerThePart) {
  const struct {
    std::uint64_t samples;
    double narrower;
  } rows[] = {{50, 1.02}, {300, 1.18}, {700, 1.8}, {950, 3.8}};
  for (const auto& row : rows) {
    const NodeSums part = small_objects(row.samples);
    const NodeSums whole = small_objects(1000);
    const double exact = whole.weighted_bytes;
    const Estimate found = calibrated_bytes(part, whole, exact, 0.95).value();
    const double own = width(estimate_bytes(part, 0.95).interval);
    EXPECT_GT(own / width(found.interval), row.narrower) << row.samples;
    EXPECT_LT(found.variance, part.bytes_variance);
  }
}

// For small objects the share is a binomial proportion, and its limits are exact.
TEST(Calibration, IsClopperAndPearsonsShareForSmallObjects) {
  const Interval found =
      calibrated_bytes(small_objects(7), small_objects(20), 20 * kT, 0.95).value().interval;
  EXPECT_NEAR(found.lo / (20 * kT), boost::math::ibeta_inv(7.0, 14.0, 0.025), 1e-3);
  EXPECT_NEAR(found.hi / (20 * kT), boost::math::ibeta_inv(8.0, 13.0, 0.975), 1e-3);
}

// Small shares gain nothing, and lose a few per cent at most.
TEST(Calibration, IsNeverMuchWiderThanTheOwnInterval) {
  for (const std::uint64_t samples : {5ULL, 20ULL, 100ULL}) {
    for (const std::uint64_t others : {10ULL, 1000ULL, 100000ULL}) {
      for (const NodeSums& part : {small_objects(samples), large_objects(samples)}) {
        for (const NodeSums& rest : {small_objects(others), large_objects(others)}) {
          NodeSums whole = part;
          whole.merge(rest);
          const Interval found =
              calibrated_bytes(part, whole, whole.weighted_bytes, 0.95).value().interval;
          const double own = width(estimate_bytes(part, 0.95).interval);
          EXPECT_LT(width(found) / own, 1.05) << samples << ' ' << others;
        }
      }
    }
  }
}

// Every byte of the whole is in some part, whatever the sizes and intervals.
TEST(Calibration, ValuesOfDisjointPartsAddUpToTheExactTotal) {
  std::mt19937_64 generator(3);
  std::vector<NodeSums> parts(12);
  NodeSums whole;
  for (NodeSums& part : parts) {
    part.could_have_sampled(kT);
    for (int i = 0; i < 40; ++i) {
      part.add(16 + generator() % 60000, rate_of_interval(generator() % 2 == 0 ? kT : kT / 8));
    }
    part.add_certain(100000, generator() % 3);
    whole.merge(part);
  }
  for (const double factor : {0.97, 1.0, 1.05}) {
    const double exact = whole.certain_bytes + factor * whole.weighted_bytes;
    double sum = 0;
    double variance = 0;
    for (const NodeSums& part : parts) {
      const Estimate found = calibrated_bytes(part, whole, exact, 0.95).value();
      EXPECT_EQ(found.exact, part.certain_bytes);
      EXPECT_LE(found.interval.lo, found.value);
      EXPECT_GE(found.interval.hi, found.value);
      sum += found.value;
      variance += found.variance;
    }
    EXPECT_NEAR(sum, exact, 1e-9 * exact);
    EXPECT_GT(variance, 0);
  }
}

// A part with all the samples need not be everything; but its upper limit is.
// Whatever of the open bytes belongs to the total, the interval for it is within that shown.
TEST(Calibration, CoversEveryTotalThatIsLeftOpen) {
  const NodeSums part = small_objects(70);
  NodeSums whole = part;
  whole.merge(small_objects(300));
  const KnownTotal total{static_cast<Bytes>(whole.weighted_bytes), static_cast<Bytes>(8 * kT)};
  const Estimate shown = calibrated_bytes(part, whole, total, 0.95).value();
  for (int eighth = 0; eighth <= 8; ++eighth) {
    const double exact = static_cast<double>(total.bytes) + eighth * kT;
    const Estimate own = calibrated_bytes(part, whole, exact, 0.95).value();
    EXPECT_LE(shown.interval.lo, own.interval.lo);
    EXPECT_GE(shown.interval.hi, own.interval.hi);
    EXPECT_LE(shown.value, own.value);
    EXPECT_GE(shown.value + shown.open, own.value * (1 - 1e-12));
  }
  const KnownTotal closed{total.bytes, 0};
  EXPECT_LT(width(calibrated_bytes(part, whole, closed, 0.95).value().interval),
            width(shown.interval));
}

TEST(Calibration, PartWithAllSamplesReachesTheTotal) {
  const NodeSums whole = small_objects(40);
  const double exact = 41 * kT;
  const Estimate found = calibrated_bytes(whole, whole, exact, 0.95).value();
  EXPECT_DOUBLE_EQ(found.value, exact);
  EXPECT_DOUBLE_EQ(found.interval.hi, exact);
  EXPECT_LT(found.interval.lo, exact);
  EXPECT_GT(found.interval.lo, 0.9 * exact);
  EXPECT_EQ(found.variance, 0);
}

TEST(Calibration, PartWithoutSamplesIsBoundedByItsShare) {
  NodeSums silent;
  silent.could_have_sampled(kT);
  const Estimate found = calibrated_bytes(silent, small_objects(40), 41 * kT, 0.95).value();
  EXPECT_EQ(found.value, 0);
  EXPECT_EQ(found.interval.lo, 0);
  EXPECT_GT(found.interval.hi, 3 * kT);
  EXPECT_LT(found.interval.hi, detection_limit(kT, 0.95) * 1.01);
}

TEST(Calibration, NothingSampledLeavesOnlyTheTotal) {
  NodeSums silent;
  silent.could_have_sampled(kT);
  const Estimate found = calibrated_bytes(silent, silent, 1000, 0.95).value();
  EXPECT_EQ(found.value, 0);
  EXPECT_EQ(found.interval.lo, 0);
  EXPECT_EQ(found.interval.hi, 1000);
}

// T = 1: everything is certain, nothing is left to divide.
TEST(Calibration, CertainPartsAreExact) {
  NodeSums part, whole;
  part.add_certain(500, 2);
  whole.add_certain(500, 3);
  const Estimate found = calibrated_bytes(part, whole, 1500, 0.95).value();
  EXPECT_EQ(found.value, 1000);
  EXPECT_EQ(found.interval.lo, 1000);
  EXPECT_EQ(found.interval.hi, 1000);
}

// Laws too narrow for the inverse beta function: constants and the normal limit continue it without
// a step.
TEST(Calibration, StaysSoundForVeryManySamples) {
  double before = 0;
  for (const double s : {1e3, 1e5, 1e7, 9e9, 2e10, 1e12, 1e14}) {
    const auto samples = static_cast<std::uint64_t>(s);
    const NodeSums part = small_objects(samples);
    const NodeSums whole = small_objects(2 * samples);
    const Estimate found = calibrated_bytes(part, whole, whole.weighted_bytes, 0.95).value();
    const double scaled = width(found.interval) / found.value * std::sqrt(s);
    EXPECT_NEAR(scaled, 1.96 * std::sqrt(2), 0.06) << s;
    if (s > 1e6) {
      EXPECT_NEAR(scaled, before, 2e-3 * scaled) << s;
    }
    before = scaled;
    const NodeSums mixed_whole = [&] {
      NodeSums sums = small_objects(10);
      sums.merge(part);
      return sums;
    }();
    const Estimate few =
        calibrated_bytes(small_objects(10), mixed_whole, mixed_whole.weighted_bytes, 0.95).value();
    EXPECT_NEAR(few.interval.lo / (kT * gamma_quantile(10, 0.025)), 1, 0.02) << s;
    EXPECT_NEAR(few.interval.hi / (kT * gamma_quantile(11, 0.975)), 1, 0.02) << s;
  }
}

TEST(Calibration, RefusesPartsThatDoNotFit) {
  const NodeSums part = small_objects(5);
  const NodeSums whole = small_objects(10);
  const double exact = 10 * kT;
  EXPECT_EQ(calibrated_bytes(whole, part, exact, 0.95).error(), InputError::kPart);
  EXPECT_EQ(calibrated_bytes(part, whole, 600, 0.95).error(), InputError::kPart);
  EXPECT_EQ(calibrated_bytes(part, whole, -1, 0.95).error(), InputError::kPart);
  EXPECT_EQ(calibrated_bytes(part, whole, std::nan(""), 0.95).error(), InputError::kPart);
  EXPECT_EQ(calibrated_bytes(part, whole, HUGE_VAL, 0.95).error(), InputError::kPart);
  for (const double level : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_EQ(calibrated_bytes(part, whole, exact, level).error(), InputError::kLevel);
  }
  NodeSums broken = part;
  broken.bytes_variance = std::nan("");
  EXPECT_EQ(calibrated_bytes(broken, whole, exact, 0.95).error(), InputError::kPart);
}

}  // namespace
}  // namespace geiger::estimation::calibration_test
