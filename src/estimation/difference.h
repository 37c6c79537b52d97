// Two sides, before and after: by how much they differ, how sure that is, and
// whether chance alone could have done it.
//
// "Chance" is that of the sampler. That the same program does not allocate the same
// twice is a second source of variation, which only several runs per side can show:
// dispersion.h.
#pragma once

#include <cstdint>
#include <optional>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// One node on one side of a comparison.
struct Side {
  NodeSums sums;  ///< Added over the runs.
  /// Sides are compared per unit of it: the number of runs, or hours, or bytes allocated in all.
  /// What is not positive and finite is read as 1.
  double exposure = 1;
  /// The part of sums.certain_bytes in objects that the other side may have put to
  /// trial: those smaller than the largest interval in force on either side. 0 where
  /// both sides had one and the same interval. Without it, objects between two
  /// different intervals would seem to have moved from certain to sampled bytes.
  double uneven_bytes = 0;
};

/// After minus before, in bytes per unit of exposure; per run where that is their number.
struct Difference {
  double value = 0;
  Interval interval;  ///< MOVER of the two FF-SG intervals; contains `value`.
  /// The change bytes that both sides recorded with certainty: a fact, not an estimate.
  double certain = 0;
  /// Two-sided, of "all else is the same per run" (what was put to trial on at least
  /// one side); a change of `certain` needs no test. In [0, 1]; 1 where nothing was
  /// put to trial. The mid-p version keeps its level on average over neighbouring
  /// sizes and is what to report and to adjust; the exact one takes its place where
  /// uneven bytes leave one side without randomness.
  double p_value = 1;
  /// The version that never rejects a true "the same" too often, for a single claim without others
  /// to average with. At least `p_value`.
  double exact_p_value = 1;
  /// The smallest growth, per unit of exposure, that would be found (p_value <= 1 - level)
  /// with a probability of 80 %.
  double detectable = 0;
};

/// Sets E of two sides to what their comparison needs. Large objects that were put to trial (pure
/// mode) come and go in steps wider than E: the next event must then be as large as the largest
/// weight on either, on each that can miss anything. A weight that is large only beside the other
/// side's smaller interval is not evidence of large objects. Doing it twice changes nothing more.
/// The functions below do it; a caller that scales sides must do it before scaling.
void settle_next_event(NodeSums& before, NodeSums& after);

/// After minus before by MOVER: the arms of either interval that can move the difference.
[[nodiscard]] Interval difference_interval(const Estimate& before, const Estimate& after);

/// Compares two sides at a confidence level. Any input gives finite numbers.
[[nodiscard]] Difference difference(const Side& before, const Side& after, double level);

/// The smallest p_value that any split of the samples seen over the two sides could
/// give: min(w, 1 - w)^n, w the after side's share of the sampling effort (1/2, hence
/// 2^-n, for equal intervals and runs). Depends on the total and on the design alone,
/// not on the split: rows where it exceeds alpha may be left out of a list of tests
/// before looking at the tests. 1 without samples; 0 where uneven bytes make any
/// p-value possible.
[[nodiscard]] double smallest_attainable_p(const Side& before, const Side& after);

/// (after - before) / before, all bytes included. The limits are those of MOVER for a ratio: the
/// growths g for which the interval of after - (1 + g) before contains 0. Each may be used alone:
/// at 95 % it is missed with a probability of at most 2.5 %, at 90 % of at most 5.3 %.
struct Growth {
  std::optional<double> value;    ///< Nothing where `before` is estimated as 0 bytes.
  double lowest = -1;             ///< In [-1, inf).
  std::optional<double> highest;  ///< Nothing where no sample bounds it.
};

}  // namespace geiger::estimation
