// What is said of rows: one way for comparisons of whole sides and of strata.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/compare/comparison.h"

namespace geiger::compare {

/// Of a row with its q-value; `site`: null for the whole.
[[nodiscard]] Verdict verdict_of(const Row& row, const Site* site, double alpha);

[[nodiscard]] Verdict verdict_of(const ExactTotals& totals, double alpha);

/// Judges the rows with these indices, which could have shown something, together: sets their
/// q-values and verdicts, and how many they are.
void judge(Comparison& comparison, const std::vector<std::size_t>& tested);

/// Changes first, then by size of the change, the largest first.
void put_in_order(std::vector<Row>& rows);

}  // namespace geiger::compare
