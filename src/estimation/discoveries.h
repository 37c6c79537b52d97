// Adjusts p-values for many comparisons at once.
#pragma once

#include <span>
#include <vector>

namespace geiger::estimation {

/// Benjamini-Hochberg adjusted p-values, in the order given: rejecting where they are
/// at most q keeps the expected share of false discoveries at or below q, for
/// independent (and for positively dependent) tests. First remove rows that cannot be significant
/// for any split (smallest_attainable_p). A NaN or a value above 1 counts as 1, one below 0 as 0;
/// results are in [0, 1].
[[nodiscard]] std::vector<double> adjusted_p_values(std::span<const double> p);

}  // namespace geiger::estimation
