#include "estimation/discoveries.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace geiger::estimation {

std::vector<double> adjusted_p_values(std::span<const double> p) {
  std::vector<double> values(p.begin(), p.end());
  for (double& value : values) value = value <= 1 ? std::max(value, 0.0) : 1.0;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const auto tests = static_cast<double>(values.size());
  double smallest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    double& value = values[order[rank - 1]];
    smallest = std::min(smallest, value * tests / static_cast<double>(rank));
    value = smallest;
  }
  return values;
}

}  // namespace geiger::estimation
