// Adjusts p-values for many comparisons at once.
#pragma once

#include <span>
#include <vector>

namespace geiger::estimation {

/// Benjamini-Hochberg adjusted p-values, in the order given: rejecting where they are
/// at most q keeps the expected share of false discoveries at or below q, for
/// independent (and for positively dependent) tests. Leave out rows that could not be
/// significant whatever their split (smallest_attainable_p) beforehand. A NaN or a
/// value above 1 is read as 1, one below 0 as 0; results lie in [0, 1].
[[nodiscard]] std::vector<double> adjusted_p_values(std::span<const double> p);

}  // namespace geiger::estimation
