#include "estimation/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace geiger::estimation::rounding_test {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(Rounding, KeepsTheTotal) {
  EXPECT_EQ(round_to_total({0.4, 0.4, 0.4}), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(round_to_total({1.9, 2.2, 3.9}), (std::vector<std::int64_t>{2, 2, 4}));
  EXPECT_EQ(round_to_total({}), std::vector<std::int64_t>{});
}

TEST(Rounding, KeepsTheTotalOfManySmallParts) {
  const std::vector<double> values(10'000, 2.5415);
  EXPECT_EQ(sum(round_to_total(values)), 25'415);
}

TEST(Rounding, MovesNoValueByOneOrMore) {
  std::vector<double> values;
  values.reserve(1000);
  for (int i = 0; i < 1000; ++i) values.push_back(std::sqrt(i) * 1e6);
  const auto rounded = round_to_total(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LT(std::abs(static_cast<double>(rounded[i]) - values[i]), 1.0);
  }
}

TEST(Rounding, ClampsWhatDoesNotFit) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto rounded = round_to_total({infinite, -5, std::nan("")});
  EXPECT_EQ(rounded, (std::vector<std::int64_t>{std::int64_t{1} << 62, 0, 0}));
}

}  // namespace
}  // namespace geiger::estimation::rounding_test
