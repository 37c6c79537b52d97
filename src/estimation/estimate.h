// The combined deviation of independent errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// sqrt(a^2 + b^2) without overflow, to 2 units in the last place. The same bits on every
/// processor, unlike std::hypot, which uses fused multiply-add if available.
[[nodiscard]] inline double root_of_squares(double a, double b) {
  const double large = std::max(std::abs(a), std::abs(b));
  const double small = std::min(std::abs(a), std::abs(b));
  if (!(large > 0) || std::isinf(large)) return large;
  const double ratio = small / large;
  return large * std::sqrt(1 + ratio * ratio);
}

// Estimates from sums: every value comes with its variance and interval.

struct Interval {
  double lo = 0;
  double hi = 0;
};

/// A value with its uncertainty. Deliberately without a conversion to double and without
/// operator<<: print value and interval together.
struct Estimate {
  double value = 0;
  double variance = 0;
  Interval interval;
  std::uint64_t samples = 0;  ///< With pi < 1; certain ones add no error.
  double exact = 0;           ///< Part of `value` known without error (X).
  double open = 0;            ///< What open samples add to the upper limit, about.
};

/// `least` with the upper limit of `most`, the estimate that counts open samples in full: each
/// limit is valid for its own, and the truth is between the two.
[[nodiscard]] Estimate reaching(Estimate least, const Estimate& most);

/// The kind of interval (docs/internals/estimators.md, section 5).
enum class Form {
  kTotal,   ///< FF-SG: totals, differences, SQL. s = 0 gives [X, X + E ln(2/alpha)].
  kListed,  ///< FF-SG given s >= 1: rows that are shown because they were sampled.
};

/// Whether `level` is valid: strictly between 0 and 1 (no NaN). Use it to check user input. The
/// functions below accept any double: a level too high (or NaN) counts as the highest that doubles
/// can represent, one too low as 0, and they never return NaN.
[[nodiscard]] constexpr bool is_confidence_level(double level) { return level > 0 && level < 1; }

/// 1 - level, clamped to [2^-53, 1].
[[nodiscard]] double alpha_of(double level);

/// No recording has more bytes (or objects, or squares of their roots): sums are clamped to it, so
/// that their squares cannot overflow.
inline constexpr double kLargestSum = 1e150;

/// A sum clamped to [0, kLargestSum], NaN as 0, so that formulas never compute inf - inf.
[[nodiscard]] constexpr double clean(double sum) {
  if (!(sum > 0)) return 0;
  return sum < kLargestSum ? sum : kLargestSum;
}

/// Estimated bytes of a node. `level` in (0, 1), e.g. 0.95. The interval contains
/// `value`; it is [value, value] if nothing could be missed (T = 1). Open samples count as 0 in
/// `value` and the lower limit, and with their whole size in the upper limit.
[[nodiscard]] Estimate estimate_bytes(const NodeSums& sums, double level, Form form = Form::kTotal);

/// The weight of the next unseen object of the smallest size seen, c': drawn at the largest
/// interval that was in force, wherever that size was seen.
[[nodiscard]] double heaviest_unseen_object(const NodeSums& sums);

/// Whether the sizes seen bound the number of unseen objects: not without samples, and not where
/// fewer than four have sizes that differ by a factor of 2 or more. Then the upper limit of objects
/// assumes one byte per object, and says little.
[[nodiscard]] bool is_size_known(const NodeSums& sums);

/// Estimated objects, given the sizes seen (stated assumption: the next unseen object is no smaller
/// than the smallest seen at this node; where sizes differ by a factor of 2 or more, down to 8
/// bytes there are not more objects per factor than there).
[[nodiscard]] Estimate estimate_objects(const NodeSums& sums, double level,
                                        Form form = Form::kTotal);

/// Detection limit: a node without samples has fewer bytes than this at `level`
/// (two-sided convention, E ln(2/alpha): 3.689 E at 95 %).
[[nodiscard]] double detection_limit(double largest_interval, double level);

/// z = (hits - p trials) / sqrt(trials p q) with p = 1/T; 0 when trials = 0 or
/// T <= 1. Standard normal for a correct sampler from about 100 expected hits on.
[[nodiscard]] double sampler_z(std::uint64_t hits, std::uint64_t trials, double interval);

// Estimates in other units.

/// Multiplies an estimate by `factor`: bytes per run, money. Requires factor > 0.
[[nodiscard]] constexpr Estimate scaled(Estimate estimate, double factor) {
  GEIGER_ASSERT(factor > 0);
  estimate.value *= factor;
  estimate.variance *= factor * factor;
  estimate.interval = {estimate.interval.lo * factor, estimate.interval.hi * factor};
  estimate.exact *= factor;
  return estimate;
}

}  // namespace geiger::estimation
