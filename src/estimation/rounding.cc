#include "estimation/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace geiger::estimation {
namespace {

constexpr double kLargest = 0x1p62;

double clamped(double value) { return value > 0 ? std::min(value, kLargest) : 0.0; }

/// Indexes of the `count` largest fractions.
std::vector<std::size_t> largest(const std::vector<double>& fractions, std::size_t count) {
  std::vector<std::size_t> order(fractions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    return fractions[a] != fractions[b] ? fractions[a] > fractions[b] : a < b;
  });
  order.resize(count);
  return order;
}

}  // namespace

std::vector<std::int64_t> round_to_total(const std::vector<double>& values) {
  std::vector<std::int64_t> rounded;
  std::vector<double> fractions;
  rounded.reserve(values.size());
  fractions.reserve(values.size());
  // The whole parts add exactly in integers, so only fractions are rounded.
  long double fraction_sum = 0;
  for (const double value : values) {
    const double whole = std::floor(clamped(value));
    rounded.push_back(static_cast<std::int64_t>(whole));
    fractions.push_back(clamped(value) - whole);
    fraction_sum += fractions.back();
  }
  const auto missing = static_cast<std::size_t>(std::llround(fraction_sum));
  for (const std::size_t index : largest(fractions, std::min(missing, values.size()))) {
    ++rounded[index];
  }
  return rounded;
}

}  // namespace geiger::estimation
