// Estimates from sums: every value comes with its variance and interval.
#pragma once

#include <cstdint>

#include "estimation/sums.h"

namespace geiger::estimation {

struct Interval {
  double lo = 0;
  double hi = 0;
};

/// A number that knows how sure it is. Deliberately without a conversion to
/// double and without operator<<: print value and interval together.
struct Estimate {
  double value = 0;
  double variance = 0;
  Interval interval;
  std::uint64_t samples = 0;  ///< With pi < 1; certain ones add no error.
  double exact = 0;           ///< Part of `value` known without error (X).
};

/// The kind of interval that a number gets (docs/estimators.md, section 5).
enum class Form {
  kTotal,   ///< FF-SG: totals, differences, SQL. s = 0 gives [X, X + E ln(2/alpha)].
  kListed,  ///< FF-SG given s >= 1: rows that are shown because they were sampled.
};

/// Whether `level` can be asked for: strictly between 0 and 1 (no NaN). Check
/// what a user typed with it. The functions below take any double: they read a
/// level too high (or NaN) as the highest that doubles can express, one too low
/// as 0, and never return NaN.
[[nodiscard]] constexpr bool is_confidence_level(double level) { return level > 0 && level < 1; }

/// 1 - level as the functions here read it: in [2^-53, 1].
[[nodiscard]] double alpha_of(double level);

/// No recording has more bytes (or objects, or squares of their roots): sums are cut
/// to it, so that their squares cannot overflow.
inline constexpr double kLargestSum = 1e150;

/// A sum as the formulas take it, which keeps inf - inf out of them: in [0, kLargestSum], NaN as 0.
[[nodiscard]] constexpr double clean(double sum) {
  if (!(sum > 0)) return 0;
  return sum < kLargestSum ? sum : kLargestSum;
}

/// Estimated bytes of a node. `level` in (0, 1), e.g. 0.95. The interval contains
/// `value`; it is [value, value] where nothing could be missed (T = 1). What is open counts
/// for nothing in `value` and the lower limit, and with all of its size in the upper one.
[[nodiscard]] Estimate estimate_bytes(const NodeSums& sums, double level, Form form = Form::kTotal);

/// Estimated objects, given the sizes seen (stated assumption: the next unseen
/// object is no lighter than the lightest seen at this node). Where none was
/// seen the upper end assumes the least size, one byte per object.
[[nodiscard]] Estimate estimate_objects(const NodeSums& sums, double level,
                                        Form form = Form::kTotal);

/// Estimated objects where no object is smaller than `least_size` (the size of the type at the
/// site, the smallest class of the allocator): the upper limit then holds for any mixture of sizes
/// from there on, also without samples. A size of 0 counts as 1; for samples that were thinned no
/// such bound is known.
[[nodiscard]] Estimate estimate_objects_of_size_at_least(Bytes least_size, const NodeSums& sums,
                                                         double level, Form form = Form::kTotal);

/// Detection limit: a node with no sample has fewer bytes than this at `level`
/// (two-sided convention, E ln(2/alpha): 3.689 E at 95 %).
[[nodiscard]] double detection_limit(double largest_interval, double level);

/// z = (hits - p trials) / sqrt(trials p q) with p = 1/T; 0 when trials = 0 or
/// T <= 1. Standard normal for a right sampler from about 100 expected hits on.
[[nodiscard]] double sampler_z(std::uint64_t hits, std::uint64_t trials, double interval);

}  // namespace geiger::estimation
