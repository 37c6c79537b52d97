#include "estimation/distributions/negative_binomial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "estimation/sums.h"

namespace geiger::estimation {
namespace {

nlohmann::json vectors() {
  return nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
}

NegativeBinomial law(std::uint64_t successes, double interval) {
  return NegativeBinomial::make(successes, rate_of_interval(interval)).value();
}

void expect_near(double value, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected)) << what;
}

// All 50 numbers of the .NET design's table: the floor of the real root.
TEST(NegativeBinomial, GivesEveryNumberOfTheTable) {
  const nlohmann::json rows = vectors()["nb_table"]["rows"];
  ASSERT_EQ(rows.size(), 50U);
  for (const auto& row : rows) {
    const NegativeBinomial failures = law(row["s"], 102400);
    const double target = row["target"];
    EXPECT_EQ(failures.failures_at(target).value(), row["failures"].get<double>()) << row.dump();
    EXPECT_EQ(failures.failures_at_upper(1 - target).value(), row["failures"].get<double>());
    expect_near(failures.at_most(row["failures"]), row["cdf_at_failures"], 1e-10, row.dump());
  }
}

TEST(NegativeBinomial, GivesTheReferenceProbabilities) {
  const nlohmann::json rows = vectors()["nb_cdf"];
  ASSERT_EQ(rows.size(), 15U);
  for (const auto& row : rows) {
    const NegativeBinomial failures = law(row["s"], row["T"]);
    expect_near(failures.at_most(row["failures"]), row["cdf"], 1e-10, row.dump());
    const double at = row["failures"], tail = row["one_minus_cdf"];
    if (tail > 0.5) continue;
    EXPECT_NEAR(failures.failures_at_upper(tail).value(), at, 1 + 1e-9 * at) << row.dump();
  }
}

TEST(NegativeBinomial, GivesTheWorkedExample) {
  const nlohmann::json example = vectors()["nb_worked_example"];
  const std::uint64_t s = example["s"];
  const double u = example["u"];
  const double interval = example["T"];
  const auto up_to = failed_trials_interval(s, u, interval, 0.95, Window::kUpToSample).value();
  EXPECT_EQ(up_to.lo, example["lower"].get<double>());
  EXPECT_EQ(up_to.hi, example["upper"].get<double>());
  const auto fixed = failed_trials_interval(s, u, interval, 0.95, Window::kFixed).value();
  EXPECT_EQ(fixed.lo, example["lower"].get<double>());
  // The reference stops at the table's convention, we one byte later.
  EXPECT_EQ(fixed.hi, example["upper_fixed_window_s_plus_1"].get<double>() + 1);
  EXPECT_EQ(static_cast<double>(s) * (interval - 1) + u, example["point"].get<double>());
}

// P(F = f) = C(f + s - 1, f) p^s q^f, added up in plain steps.
TEST(NegativeBinomial, AgreesWithTheSumOfItsTerms) {
  for (const double interval : {1.01, 1.5, 2.0, 7.0, 100.0}) {
    const double p = 1 / interval;
    for (const std::uint64_t s : {1U, 2U, 5U, 20U}) {
      double term = std::pow(p, static_cast<double>(s));
      double sum = term;
      for (int f = 0; f < 300; ++f) {
        expect_near(law(s, interval).at_most(f), sum, 1e-11, "s, T, f");
        term *= (1 - p) * (f + static_cast<double>(s)) / (f + 1);
        sum += term;
      }
    }
  }
}

TEST(NegativeBinomial, QuantilesObeyTheirDefinition) {
  for (const double interval : {1.001, 2.0, 16.0, 1e3, 1e6, 1e15}) {
    for (const std::uint64_t s : {1ULL, 3ULL, 100ULL, 1000000ULL}) {
      const NegativeBinomial failures = law(s, interval);
      for (const double target : {1e-12, 0.005, 0.05, 0.5, 0.9375, 0.995, 1 - 1e-12}) {
        const double f = failures.failures_at(target).value();
        ASSERT_GE(f, -1);
        EXPECT_LE(failures.at_most(f), target * (1 + 1e-12));
        EXPECT_GE(failures.at_most(f + 1), target * (1 - 1e-12));
      }
    }
  }
  // 1 - 2^-4 at T = 2 is a whole root: three failures, not two.
  EXPECT_EQ(law(1, 2).failures_at(0.9375).value(), 3);
  EXPECT_EQ(law(1, 2).failures_at(0.4).value(), -1);
}

TEST(NegativeBinomial, NothingFailsWhereEveryByteIsDrawn) {
  EXPECT_EQ(law(3, 1).at_most(0), 1);
  for (const Window window : {Window::kUpToSample, Window::kFixed}) {
    const Interval interval = failed_trials_interval(3, 70, 1, 0.95, window).value();
    EXPECT_EQ(interval.lo, 70);
    EXPECT_EQ(interval.hi, 70);
  }
}

// E ln(2/alpha), as everywhere: (ln(2/alpha) / lambda is it to half a byte.)
TEST(NegativeBinomial, BoundsWhatLeftNoSample) {
  for (const double level : {0.5, 0.95, 0.999999}) {
    const Interval none = failed_trials_interval(0, 0, 524288, level, Window::kFixed).value();
    EXPECT_EQ(none.lo, 0);
    EXPECT_NEAR(none.hi, detection_limit(524288, level), 2 + level * 16);
  }
}

// The share of windows of `trials` one-byte objects whose interval holds them.
double coverage(std::uint64_t trials, double interval, double level, Window window) {
  const double p = 1 / interval;
  const auto n = static_cast<double>(trials);
  double covered = 0;
  for (std::uint64_t s = window == Window::kFixed ? 0 : 1; s <= trials; ++s) {
    const auto k = static_cast<double>(s);
    const double log_choose = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
    const double probability = std::exp(log_choose + k * std::log(p) + (n - k) * std::log1p(-p));
    if (probability < 1e-9) {
      if (k > n * p) break;
      continue;
    }
    const Interval found = failed_trials_interval(s, k, interval, level, window).value();
    if (found.lo <= n && n <= found.hi) covered += probability;
  }
  return covered;
}

// The interval of observation that ends at a sample does not fit a window that
// ends at a time: at half an expected sample it covers 38 %. (s, s + 1) does.
TEST(NegativeBinomialWindow, OnlyTheRuleForFixedWindowsCovers) {
  const double interval = 4096;
  const struct {
    double expected, covered;
  } up_to_sample[] = {{0.5, 0.379}, {1, 0.613}, {2, 0.848}, {3, 0.938}};
  for (const auto& row : up_to_sample) {
    const auto trials = static_cast<std::uint64_t>(row.expected * interval);
    EXPECT_NEAR(coverage(trials, interval, 0.95, Window::kUpToSample), row.covered, 0.002);
    EXPECT_GE(coverage(trials, interval, 0.95, Window::kFixed), 0.95);
  }
}

// Its own question it answers exactly: observation that ends at the s-th sample.
TEST(NegativeBinomialWindow, TheRuleForWindowsUpToASampleIsExactThere) {
  for (const std::uint64_t s : {1ULL, 2ULL, 8ULL, 1000ULL}) {
    const Interval found = failed_trials_interval(s, 0, 102400, 0.95, Window::kUpToSample).value();
    const NegativeBinomial failures = law(s, 102400);
    EXPECT_NEAR(failures.at_most(found.hi) - failures.at_most(found.lo), 0.95, 2e-5) << s;
  }
}

// Clopper and Pearson's guarantee, for every number of trials at small T as well,
// where a limit that is one byte short would show.
TEST(NegativeBinomialWindow, CoversForEveryNumberOfTrials) {
  for (const double interval : {1.2, 2.0, 5.0, 33.0}) {
    for (const double level : {0.5, 0.9, 0.99}) {
      for (std::uint64_t trials = 0; trials < 90; ++trials) {
        EXPECT_GE(coverage(trials, interval, level, Window::kFixed), level - 1e-6)
            << interval << ' ' << level << ' ' << trials;
      }
    }
  }
}

// What is claimed of the approximation holds for the probabilities.
TEST(CampPaulson, ErrsAsDocumentedInTheProbability) {
  EXPECT_NEAR(law(1, 1e5).camp_paulson_error(), 0.0122, 0.0001);
  EXPECT_NEAR(law(5, 1e5).camp_paulson_error(), 0.00127, 0.00001);
  EXPECT_NEAR(law(10, 1e5).camp_paulson_error(), 0.00061, 0.00001);
  EXPECT_NEAR(law(1, 1e5).camp_paulson_at_most(0), 0.0045, 0.0001);
}

// Not for the quantiles, which are what an interval consists of.
TEST(CampPaulson, ErrsFarMoreInTheLowerLimit) {
  const struct {
    std::uint64_t successes;
    double lower, upper;
  } rows[] = {{1, -0.48, 0.006}, {2, -0.073, 0.006}, {3, -0.025, 0.006}, {5, -0.0075, 0.006}};
  for (const auto& row : rows) {
    const NegativeBinomial failures = law(row.successes, 1e5);
    const auto error = [&](double target) {
      return failures.camp_paulson_root(target).value() / failures.failures_at(target).value() - 1;
    };
    EXPECT_NEAR(error(0.025), row.lower, 0.02 * std::abs(row.lower) + 0.0005) << row.successes;
    EXPECT_LT(std::abs(error(0.975)), row.upper) << row.successes;
  }
}

TEST(NegativeBinomial, RefusesWhatHasNoAnswer) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(NegativeBinomial::make(0, 1).error(), InputError::kCount);
  EXPECT_EQ(NegativeBinomial::make(~0ULL, 1).error(), InputError::kCount);
  for (const double rate : {0.0, -1.0, nan}) {
    EXPECT_EQ(NegativeBinomial::make(1, rate).error(), InputError::kProbability);
  }
  for (const double target : {0.0, 1.0, -0.5, 2.0, nan}) {
    EXPECT_EQ(law(1, 2).failures_at(target).error(), InputError::kProbability);
    EXPECT_EQ(law(1, 2).failures_at_upper(target).error(), InputError::kProbability);
    EXPECT_EQ(law(1, 2).camp_paulson_root(target).error(), InputError::kProbability);
    EXPECT_EQ(failed_trials_interval(1, 1, 2, target, Window::kFixed).error(), InputError::kLevel);
  }
  for (const double interval : {0.5, -1.0, 1e20, infinity, nan}) {
    EXPECT_EQ(failed_trials_interval(1, 1, interval, 0.95, Window::kFixed).error(),
              InputError::kInterval);
  }
  EXPECT_EQ(failed_trials_interval(1, nan, 2, 0.95, Window::kFixed).error(), InputError::kSize);
  EXPECT_EQ(failed_trials_interval(0, 0, 2, 0.95, Window::kUpToSample).error(), InputError::kCount);
}

// No level, number or interval that passes gives anything but finite limits.
TEST(NegativeBinomial, StaysFiniteAtEveryExtreme) {
  for (const double level : {1e-300, 0.5, 1 - 0x1p-53}) {
    for (const double interval : {1.0, 1.0000001, 1e18}) {
      for (const std::uint64_t s : {1ULL, 1000ULL, 100000000ULL}) {
        for (const Window window : {Window::kUpToSample, Window::kFixed}) {
          const Interval found = failed_trials_interval(s, 1e9, interval, level, window).value();
          EXPECT_TRUE(found.lo >= 1e9 && found.lo <= found.hi && found.hi < 1e40);
        }
      }
    }
  }
}

}  // namespace
}  // namespace geiger::estimation
