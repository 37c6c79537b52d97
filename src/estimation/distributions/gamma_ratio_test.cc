#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "estimation/distributions/probabilities.h"

namespace geiger::estimation::gamma_ratio_test {
namespace {

Gamma with_shape(double shape, double scale) { return {shape * scale, std::sqrt(shape) * scale}; }

// Shape n against shape m of one scale is a race of two Poisson processes: the
// binomial distribution with p = 1/2.
TEST(OrderOf, IsTheBinomialForEqualScales) {
  for (int n = 1; n < 12; ++n) {
    for (int m = 1; m < 12; ++m) {
      // first <= second: the n-th event of one before the m-th of the other.
      double expected = 0;
      double term = std::ldexp(1.0, -n);
      for (int k = 0; k < m; ++k) {
        expected += term;
        term *= 0.5 * (n + k) / (k + 1);
      }
      const Order order = order_of(with_shape(n, 3), with_shape(m, 3));
      EXPECT_NEAR(order.at_most, expected, 1e-13) << n << " " << m;
      EXPECT_NEAR(order.at_least, 1 - expected, 1e-13) << n << " " << m;
    }
  }
}

TEST(OrderOf, OfExponentialsIsTheRatioOfRates) {
  for (const double odds : {1e-250, 1e-12, 0.3, 1.0, 7.0, 1e12, 1e250}) {
    const Order order = order_of({1, 1}, {odds, odds});
    EXPECT_NEAR(order.at_most, odds / (1 + odds), 1e-14 * odds) << odds;
    EXPECT_NEAR(order.at_least, 1 / (1 + odds), 1e-14 / odds) << odds;
  }
}

TEST(OrderOf, TakesConstantsAsSuch) {
  const Gamma law{5, 2};
  EXPECT_EQ(order_of(law, {6, 0}).at_most, law.below(6));
  EXPECT_EQ(order_of({6, 0}, law).at_least, law.below(6));
  EXPECT_EQ(order_of({0, 0}, law).at_most, 1);
  EXPECT_EQ(order_of({0, 0}, {0, 0}).at_most, 1);
  EXPECT_EQ(order_of({0, 0}, {0, 0}).at_least, 1);
  EXPECT_EQ(order_of({2, 0}, {1, 0}).at_most, 0);
}

// Where the method changes (cube roots above shape 1e7, constants where one law is
// 1e13 times narrower), both must say the same.
TEST(OrderOf, IsContinuousWhereTheMethodChanges) {
  for (const double z : {-4.0, -1.0, 0.3, 3.0}) {
    for (const double b : {1.00001e7, 1e9}) {
      const auto order = [&](double a) {
        const double deviation = std::sqrt(1 / a + 1 / b);
        return order_of(with_shape(a, 1 / a), with_shape(b, (1 + z * deviation) / b));
      };
      const Order beta = order(0.9999999e7);
      const Order normal = order(1.0000001e7);
      EXPECT_NEAR(beta.at_most / normal.at_most, 1, 1e-6) << z;
      EXPECT_NEAR(beta.at_least / normal.at_least, 1, 1e-6) << z;
    }
    const Gamma law = with_shape(20, 1);
    const double mean = 20 + z;
    const Order narrow = order_of(law, with_shape(19.9e13, mean / 19.9e13));
    const Order constant = order_of(law, {mean, 0});
    EXPECT_NEAR(narrow.at_most / constant.at_most, 1, 1e-9) << z;
  }
}

TEST(OrderOf, IsNeverNan) {
  const double values[] = {0, 1e-300, 1e-20, 1e-3, 1, 1e3, 1e8, 1e40, 1e150};
  for (const double a : values) {
    for (const double b : values) {
      for (const double c : values) {
        for (const double d : values) {
          const Order order = order_of({a, b}, {c, d});
          ASSERT_TRUE(order.at_most >= 0 && order.at_most <= 1) << a << " " << b << " " << c;
          ASSERT_TRUE(order.at_least >= 0 && order.at_least <= 1) << a << " " << b << " " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace geiger::estimation::gamma_ratio_test
