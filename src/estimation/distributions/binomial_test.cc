#include <gtest/gtest.h>

#include "estimation/distributions/probabilities.h"

namespace geiger::estimation::binomial_test {
namespace {

TEST(Binomial, AddsUpWhatLiesBelow) {
  EXPECT_DOUBLE_EQ(binomial_below(4, 0, 0.5), 1 / 16.0);
  EXPECT_DOUBLE_EQ(binomial_below(4, 1, 0.5), 5 / 16.0);
  EXPECT_DOUBLE_EQ(binomial_below(4, 3, 0.5), 15 / 16.0);
  EXPECT_DOUBLE_EQ(binomial_below(10, 2, 0.1), 0.9298091736);
}

TEST(Binomial, KnowsItsEdges) {
  EXPECT_EQ(binomial_below(4, 4, 0.5), 1);
  EXPECT_EQ(binomial_below(0, 0, 0.5), 1);
  EXPECT_EQ(binomial_below(4, 0, 0), 1);
  EXPECT_EQ(binomial_below(4, 3, 1), 0);
}

TEST(Binomial, CountsChoices) {
  EXPECT_NEAR(log10_choose(10, 3), 2.0791812460476247, 1e-14);  // 120
  EXPECT_EQ(log10_choose(7, 0), 0);
  EXPECT_NEAR(log10_choose(1e6, 5e5), 301026.897603934, 1e-6);
}

}  // namespace
}  // namespace geiger::estimation::binomial_test
