// Rows calibrated to exact totals: intervals of changes cover, tests keep their level, and a
// change of most of a program is found that its own samples alone would not show. Fixed seeds;
// limits leave four standard errors (a false alarm of fresh seeds once in 16,000 comparisons).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/compare/test_sides.h"

namespace geiger::compare {
namespace {

constexpr int kRepeats = 300;

double error_of(double rate) { return std::sqrt(rate * (1 - rate) / kRepeats); }

/// A side of three functions, in samples that are expected of each.
struct Means {
  double large = 0, small = 0, other = 0;
};

/// What one sample of 16 bytes stands for.
double weight_of(Bytes interval) {
  return 16 / estimation::inclusion_probability(
                  16, estimation::rate_of_interval(static_cast<double>(interval)));
}

profile::TestRecording drawn(std::mt19937_64& random, const Means& means, Bytes interval,
                             bool is_counted = true) {
  std::vector<Sampled> sites;
  for (const auto& [name, mean] : {std::pair("large", means.large), std::pair("small", means.small),
                                   std::pair("other", means.other)}) {
    sites.emplace_back(name, std::poisson_distribution<int>(mean)(random));
  }
  profile::TestRecording run = run_with(sites, interval);
  const double bytes = (means.large + means.small + means.other) * weight_of(interval);
  run.recording.threads[0].bytes = static_cast<Bytes>(std::llround(bytes));
  if (!is_counted) run.recording.threads[0].armed = 1;  // A byte more, perhaps.
  return run;
}

const Row& row_named(const Comparison& comparison, const std::string& name) {
  for (const Row& row : comparison.rows) {
    if (comparison.collected.sites[row.site].name == name) return row;
  }
  return comparison.total;
}

struct Rates {
  double covered = 0;   ///< Of the change of "large", at 95 %.
  double rejected = 0;  ///< Its p-value at most .05.
  double surely = 0;    ///< At most .005.
};

/// `ratio`: the interval of the after side over that before, whose samples are `after` times that.
Rates rates_of(const Means& before, const Means& after, Bytes ratio, bool is_counted = true) {
  constexpr Bytes kInterval = 1024;
  const double truth =
      after.large * weight_of(kInterval * ratio) - before.large * weight_of(kInterval);
  Rates rates;
  for (int i = 0; i < kRepeats; ++i) {
    std::mt19937_64 random(static_cast<std::uint64_t>(i) + 1);
    const auto first = drawn(random, before, kInterval, is_counted);
    const auto second = drawn(random, after, kInterval * ratio, is_counted);
    const Comparison comparison = compare(collect_runs({first}, {second}), 0.95);
    const Change& change = row_named(comparison, "large").change;
    rates.covered += change.interval.lo <= truth && truth <= change.interval.hi;
    rates.rejected += change.p_value <= 0.05;
    rates.surely += change.p_value <= 0.005;
  }
  return {rates.covered / kRepeats, rates.rejected / kRepeats, rates.surely / kRepeats};
}

/// `samples` in all before, `share` of them at "large"; the rest grows by half.
void expect_right(double samples, double share, double growth, Bytes ratio) {
  SCOPED_TRACE("samples " + std::to_string(samples) + ", share " + std::to_string(share) +
               ", growth " + std::to_string(growth) + ", ratio " + std::to_string(ratio));
  const double rest = samples * (1 - share);
  const Means before{samples * share, rest * 0.3, rest * 0.7};
  // Of the same bytes a coarser interval has fewer samples.
  const double scale = weight_of(1024) / weight_of(1024 * ratio);
  const Means after{before.large * (1 + growth) * scale, before.small * 1.5 * scale,
                    before.other * 1.5 * scale};
  const Rates rates = rates_of(before, after, ratio);
  std::printf(
      "%4.0f samples, share %.2f, growth %.2f, T ratio %d: covered %.3f, p <= .05 %.3f, "
      "p <= .005 %.3f\n",
      samples, share, growth, static_cast<int>(ratio), rates.covered, rates.rejected, rates.surely);
  EXPECT_GE(rates.covered, 0.95 - 4 * error_of(0.95));
  if (growth != 0) return;
  EXPECT_LE(rates.rejected, 0.05 + 4 * error_of(0.05));
  EXPECT_LE(rates.surely, 0.005 + 4 * error_of(0.005));
}

TEST(CalibratedChanges, CoverAndKeepTheirLevel) {
  for (const double samples : {40.0, 120.0, 400.0}) {
    for (const double share : {0.3, 0.8, 0.95, 0.99}) {
      for (const Bytes ratio : {Bytes{1}, Bytes{4}}) {
        expect_right(samples, share, 0, ratio);
        expect_right(samples, share, 0.1, ratio);
      }
    }
  }
}

TEST(CalibratedChanges, FindWhatTheTotalShows) {
  const Means before{360, 12, 28}, after{385, 12, 28};
  const Rates counted = rates_of(before, after, 1);
  const Rates sampled = rates_of(before, after, 1, false);
  std::printf("+6.9 %% of nine tenths: found in %.2f of the runs, without exact totals %.2f\n",
              counted.rejected, sampled.rejected);
  EXPECT_GE(counted.rejected, 0.7);
  EXPECT_LE(sampled.rejected, 0.35);
}

TEST(CalibratedChanges, AddUpToTheCountedTotal) {
  std::mt19937_64 random(5);
  const auto first = drawn(random, {200, 60, 40}, 1024);
  const auto second = drawn(random, {210, 60, 40}, 1024);
  const Comparison comparison = compare(collect_runs({first}, {second}), 0.95);
  double before = 0, change = 0;
  for (const Row& row : comparison.rows) {
    before += row.before.value;
    change += row.change.value;
  }
  ASSERT_TRUE(comparison.exact);
  EXPECT_NEAR(before, comparison.exact->before, 1e-6 * before);
  EXPECT_NEAR(change, comparison.exact->change(), 1e-6 * before);
}

}  // namespace
}  // namespace geiger::compare
