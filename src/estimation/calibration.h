// Estimates that use the exact total: the runtime counts every byte, so samples only have to show
// how the total divides. For allocated bytes only; live bytes are not counted.
#pragma once

#include <cstdint>

#include "estimation/checked.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// Bytes of a part of a whole that has exactly `exact_bytes`, certain objects of
/// both included. The value is the regression estimate Y_s + (N - Y) V_s/V: the
/// values of disjoint parts that make up the whole add up to N (save where one
/// would leave the interval's outer bounds and is held there). Its interval comes
/// from the law of the part's share given the samples, and lies within [what was
/// seen of the part, N less what was seen of the rest].
///
/// `exact` of the result is the part's certain bytes, `variance` V_s V_r/V.
///
/// The interval has its coverage if only objects below T are tried. In pure recordings its
/// coverage falls to .92 among objects of several T.
///
/// kLevel: `level` outside (0, 1). kPart: `part` has more than `whole` somewhere, or `exact_bytes`
/// is less than what was seen. Without uncertain samples in the whole (V = 0) it is not known how
/// the unseen bytes divide: the value is what was seen.
[[nodiscard]] Checked<Estimate> calibrated_bytes(const NodeSums& part, const NodeSums& whole,
                                                 double exact_bytes, double level);

/// The value of calibrated_bytes alone, 0 where that is an error: for sorting.
[[nodiscard]] double calibrated_value(const NodeSums& part, const NodeSums& whole,
                                      double exact_bytes);

/// Whether a part has samples enough to be calibrated: fewer leave its own interval,
/// in the listed form, as good. The rule looks at their number alone. One that looks
/// at the estimated share ("the dominant parts") picks the results that came out
/// large, and its coverage falls to .944 for a threshold of 10 %, to .936 for 50 %
/// (docs/estimators.md, section 13).
[[nodiscard]] bool has_enough_to_calibrate(const NodeSums& part);

inline constexpr std::uint64_t kSamplesToCalibrate = 5;

}  // namespace geiger::estimation
