#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimation/scatter.h"

namespace geiger::estimation::repeats_test {
namespace {

// By R: t.test(c(1, 2, 4)).
TEST(Repeats, MeanHasStudentsInterval) {
  const std::vector<double> figures{1, 2, 4};
  const Estimate mean = mean_of(figures, 0.9);
  EXPECT_NEAR(mean.value, 7.0 / 3, 1e-12);
  // t(0.95; 2) = 2.919986, standard error 0.8819171.
  EXPECT_NEAR(mean.interval.hi - mean.value, 2.919986 * 0.8819171, 1e-6);
  EXPECT_EQ(mean.interval.lo, 0);  // None is negative.
}

TEST(Repeats, OneFigureSaysNothingOfItsError) {
  const std::vector<double> one{3};
  EXPECT_EQ(mean_of(one, 0.95).value, 3);
  EXPECT_EQ(mean_of(one, 0.95).interval.lo, 0);
  EXPECT_TRUE(std::isinf(mean_of(one, 0.95).interval.hi));
  EXPECT_EQ(ratio_of_pairs(one, one, 0.95).interval.lo, 0);
  EXPECT_TRUE(std::isinf(ratio_of_pairs(one, one, 0.95).interval.hi));
}

TEST(Repeats, WhatPairsShareCancels) {
  const std::vector<double> before{1, 10, 100};
  const std::vector<double> after{0.5, 5, 50};
  const Estimate ratio = ratio_of_pairs(before, after, 0.95);
  EXPECT_NEAR(ratio.value, 0.5, 1e-12);
  EXPECT_NEAR(ratio.interval.hi - ratio.interval.lo, 0, 1e-12);
}

// 4,000 experiments of 5 pairs, seed 1: Student's law is exact for normal logarithms, so 95 %
// cover; 4.4 sigma of the binomial is 1.5 %, exceeded by chance once in 90,000.
TEST(Repeats, IntervalsOfRatiosCover) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> scatter(0, 0.1);
  constexpr int kExperiments = 4000;
  int covered = 0;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> before, after;
    for (int pair = 0; pair < 5; ++pair) {
      const double busy = std::exp(5 * scatter(random));
      before.push_back(busy);
      after.push_back(busy * 0.8 * std::exp(scatter(random)));
    }
    const Interval interval = ratio_of_pairs(before, after, 0.95).interval;
    covered += interval.lo <= 0.8 && 0.8 <= interval.hi ? 1 : 0;
  }
  EXPECT_NEAR(covered, 0.95 * kExperiments, 0.0152 * kExperiments);
}

}  // namespace
}  // namespace geiger::estimation::repeats_test
