// Rounds a column of numbers without changing its total, for formats with integers only.
#pragma once

#include <cstdint>
#include <vector>

namespace geiger::estimation {

/// Largest remainders: every value is rounded down, then those with the largest
/// fractions are raised by one until the sum equals the rounded sum of `values`.
/// Ties go to the lower index. Values are clamped to [0, 2^62]; NaN counts as 0.
[[nodiscard]] std::vector<std::int64_t> round_to_total(const std::vector<double>& values);

}  // namespace geiger::estimation
