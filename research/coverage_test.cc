#include "research/coverage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "estimation/distributions/gamma.h"

namespace geiger::research {
namespace {

constexpr Bytes kT = 524288;

Site constant(Bytes size, std::uint64_t count, Bytes interval = kT) {
  return {.objects = {{size, count}}, .interval = interval};
}

// Objects of `expected` samples in all.
std::uint64_t count_for(Bytes size, double expected, Bytes interval = kT) {
  const double pi = estimation::inclusion_probability(
      size, estimation::rate_of_interval(static_cast<double>(interval)));
  return static_cast<std::uint64_t>(std::llround(expected / pi));
}

// Against a sum written out independently: Poisson weights and Garwood's limits,
// which FF-SG is for small objects.
TEST(PredictedCoverage, IsGarwoodsForTinyObjects) {
  for (const double expected : {0.5, 1.0, 3.0, 10.0, 100.0}) {
    const std::uint64_t count = count_for(16, expected);
    double covered = 0;
    for (int s = 0; s < 400; ++s) {
      const double low = s == 0 ? 0 : estimation::gamma_quantile(s, 0.025);
      const double high = estimation::gamma_quantile(s + 1, 0.975);
      const double weight = std::exp(s * std::log(expected) - expected - std::lgamma(s + 1));
      if (low <= expected && expected <= high) covered += weight;
    }
    EXPECT_NEAR(predicted_coverage(constant(16, count), 0.95, estimation::Form::kTotal).covered,
                covered, 2e-4)
        << expected;
  }
}

TEST(PredictedCoverage, ListsWithTheProbabilityOfASample) {
  const Coverage coverage =
      predicted_coverage(constant(1000, 500), 0.95, estimation::Form::kListed);
  const double lambda = estimation::rate_of_interval(static_cast<double>(kT));
  EXPECT_NEAR(coverage.listed, -std::expm1(-lambda * 500000), 1e-12);
  EXPECT_EQ(coverage.standard_error, 0);
}

TEST(PredictedCoverage, SharesAddUpToOne) {
  for (const estimation::Form form : {estimation::Form::kTotal, estimation::Form::kListed}) {
    const Coverage coverage = predicted_coverage(constant(4096, 700), 0.9, form);
    EXPECT_NEAR(coverage.covered + coverage.missed_above + coverage.missed_below, 1, 1e-12);
  }
}

// Certain objects have no error; a site of nothing but them is always covered.
TEST(PredictedCoverage, IsOneWhereNothingIsUncertain) {
  EXPECT_EQ(predicted_coverage(constant(kT, 10), 0.95, estimation::Form::kTotal).covered, 1);
  EXPECT_EQ(predicted_coverage(constant(100, 10, 1), 0.95, estimation::Form::kTotal).covered, 1);
  EXPECT_EQ(predicted_coverage({}, 0.95, estimation::Form::kTotal).covered, 1);
  EXPECT_EQ(predicted_coverage(constant(0, 10), 0.95, estimation::Form::kListed).covered, 1);
  Site pure = constant(100, 10, 1);
  pure.is_pure = true;
  EXPECT_EQ(predicted_coverage(pure, 0.95, estimation::Form::kTotal).covered, 1);
}

TEST(PredictedCoverage, CertainObjectsOnlyShiftTheInterval) {
  Site site = constant(1000, 3000);
  const double alone = predicted_coverage(site, 0.95, estimation::Form::kTotal).covered;
  site.objects.push_back({kT, 5});
  EXPECT_NEAR(predicted_coverage(site, 0.95, estimation::Form::kTotal).covered, alone, 1e-9);
}

// Huge numbers of samples: no factorial overflows, and the level is attained.
TEST(PredictedCoverage, ApproachesTheLevelForManySamples) {
  const Coverage coverage =
      predicted_coverage(constant(64, 2000000000), 0.95, estimation::Form::kTotal);
  EXPECT_NEAR(coverage.covered, 0.95, 0.002);
}

// The simulation is the sampler itself run over the objects end to end. 40,000
// runs each; |difference| < 5 standard errors has probability 1 - 6e-7.
TEST(SimulatedCoverage, AgreesWithEnumeration) {
  for (const auto& [size, expected, is_pure] :
       {std::tuple{Bytes{16}, 2.0, false}, {Bytes{300000}, 5.0, false}, {2 * kT, 3.0, true}}) {
    Site site = constant(size, count_for(size, expected));
    site.is_pure = is_pure;
    for (const estimation::Form form : {estimation::Form::kTotal, estimation::Form::kListed}) {
      const Coverage exact = predicted_coverage(site, 0.95, form);
      const Coverage runs = simulated_coverage(site, 0.95, form, 40000, 1);
      EXPECT_NEAR(runs.covered, exact.covered, 5 * runs.standard_error) << size;
      EXPECT_NEAR(runs.listed, exact.listed, 0.013) << size;  // 5 * 0.5 / sqrt(40,000).
      EXPECT_GT(runs.standard_error, 0);
    }
  }
}

TEST(SimulatedCoverage, RepeatsItselfAndDependsOnTheSeed) {
  const Site site{.objects = {{100, 5000}, {20000, 30}, {400000, 2}}, .interval = kT};
  const auto run = [&](std::uint64_t seed) {
    return simulated_coverage(site, 0.95, estimation::Form::kTotal, 3000, seed).listed;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

// A lognormal-like mix: the prediction for the sites of a truth test. Never
// below the level by more than the error of the simulation.
TEST(PredictedCoverage, SimulatesSitesOfManySizes) {
  Site site{.objects = {}, .interval = 4096};
  for (int i = 0; i < 200; ++i) {
    site.objects.push_back({static_cast<Bytes>(16 * std::exp(i * 0.04)), 10});
  }
  for (const estimation::Form form : {estimation::Form::kTotal, estimation::Form::kListed}) {
    const Coverage coverage = predicted_coverage(site, 0.95, form);
    EXPECT_GT(coverage.covered, 0.95 - 4 * coverage.standard_error);
    EXPECT_GT(coverage.standard_error, 0);
  }
}

}  // namespace
}  // namespace geiger::research
