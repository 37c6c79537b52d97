// Compares two sides, and adjusts p-values where many are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

// Compares two sides, before and after: their difference, its interval, and whether chance alone
// could explain it.
//
// "Chance" is that of the sampler. Variation between runs of the same program is a second source,
// which only several runs per side can show: runs.h.

/// One node on one side of a comparison.
struct Side {
  NodeSums sums;  ///< Added over the runs.
  /// Sides are compared per unit of exposure: the number of runs, hours, or bytes allocated in
  /// total. Values that are not positive and finite count as 1.
  double exposure = 1;
  /// The part of sums.certain_bytes in objects that the other side may have tried: those smaller
  /// than the largest interval in force on either side. 0 if both sides had the same single
  /// interval. Without it, objects between two different intervals would seem to have moved from
  /// certain to sampled bytes.
  double uneven_bytes = 0;
};

/// After minus before, in bytes per unit of exposure; per run if the exposure is the number of
/// runs.
struct Difference {
  double value = 0;
  /// MOVER of the two FF-SG intervals; contains `value`. Without those of open samples, each limit
  /// is that of the side's open samples counted in full that moves it.
  Interval interval;
  /// `value` with all open samples of the before side, and with all of the after side: between them
  /// are all values that open samples allow.
  Interval reach;
  /// The change of bytes that both sides recorded with certainty: exact, not an estimate.
  double certain = 0;
  /// Two-sided, of the hypothesis that all other bytes (tried on at least one side) are the same
  /// per run; a change of `certain` needs no test. In [0, 1]; 1 if nothing was tried. The mid-p
  /// version keeps its level on average over neighbouring sizes; report and adjust this one. It is
  /// replaced by the exact one if uneven bytes leave one side without randomness.
  double p_value = 1;  ///< With open samples the largest that they allow.
  /// The version that never rejects a true hypothesis too often, for a single claim that is not
  /// averaged with others. At least `p_value`.
  double exact_p_value = 1;
  /// The smallest growth, per unit of exposure, that would be found (p_value <= 1 - level)
  /// with a probability of 80 %.
  double detectable = 0;
};

/// Sets E of two sides for their comparison. Large objects that were tried (pure mode) come and go
/// in steps larger than E: then the next event must be as large as the largest weight on either
/// side, on each side that can miss anything. A weight that is large only compared with the other
/// side's smaller interval is not evidence of large objects. Idempotent. The functions below call
/// it; a caller that scales sides must call it before scaling.
void settle_next_event(NodeSums& before, NodeSums& after);

/// After minus before by MOVER: the arms of either interval that can move the difference.
[[nodiscard]] Interval difference_interval(const Estimate& before, const Estimate& after);

/// Compares two sides at a confidence level. Any input gives finite numbers.
[[nodiscard]] Difference difference(const Side& before, const Side& after, double level);

/// The smallest p_value that any split of the samples over the two sides could give: min(w, 1 -
/// w)^n, w the after side's share of the sampling effort (1/2, hence 2^-n, for equal intervals and
/// runs). Depends only on the total and the design, not on the split: rows where it exceeds alpha
/// may be removed from a list of tests before looking at the tests. 1 without samples; 0 if uneven
/// bytes make any p-value possible.
[[nodiscard]] double smallest_attainable_p(const Side& before, const Side& after);

/// (after - before) / before, all bytes included. The limits are those of MOVER for a ratio: the
/// growths g for which the interval of after - (1 + g) before contains 0. Each may be used alone:
/// at 95 % it is missed with a probability of at most 2.5 %, at 90 % of at most 5.3 %.
struct Growth {
  std::optional<double> value;    ///< Absent if `before` is estimated as 0 bytes.
  double lowest = -1;             ///< In [-1, inf).
  std::optional<double> highest;  ///< Absent if no sample bounds it.
};

// Adjusts p-values for many comparisons at once.

/// Benjamini-Hochberg adjusted p-values, in the order given: rejecting where they are
/// at most q keeps the expected share of false discoveries at or below q, for
/// independent (and for positively dependent) tests. First remove rows that cannot be significant
/// for any split (smallest_attainable_p). A NaN or a value above 1 counts as 1, one below 0 as 0;
/// results are in [0, 1].
[[nodiscard]] std::vector<double> adjusted_p_values(std::span<const double> p);

}  // namespace geiger::estimation
