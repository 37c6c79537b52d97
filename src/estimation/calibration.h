// Estimates that use the exact total: the runtime counts every byte, so samples only have to show
// how the total is divided. For allocated bytes only; live bytes are not counted.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "estimation/checked.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// A total of bytes that were counted: at least `bytes`, and at most `open` more.
struct KnownTotal {
  Bytes bytes = 0;
  Bytes open = 0;
};

/// Bytes of a part of a whole that has exactly `exact_bytes`, certain objects of
/// both included. The value is the regression estimate Y_s + (N - Y) V_s/V: the values of disjoint
/// parts that make up the whole add up to N (unless one is clamped to the interval's outer bounds).
/// Its interval comes from the law of the part's share given the samples, and is within [bytes seen
/// of the part, N - bytes seen of the rest].
///
/// `exact` of the result is the part's certain bytes, `variance` V_s V_r/V.
///
/// The interval has its coverage if only objects below T are tried. In pure recordings its
/// coverage falls to .92 among objects of several T.
///
/// Open samples of the part, which are samples of the whole: nothing in value and lower limit, all
/// of them in the upper limit.
///
/// kLevel: `level` outside (0, 1). kPart: `part` has more than `whole` in some field, or
/// `exact_bytes` is less than the bytes seen. Without uncertain samples in the whole (V = 0) the
/// division of the unseen bytes is unknown: the value is the bytes seen.
[[nodiscard]] Checked<Estimate> calibrated_bytes(const NodeSums& part, const NodeSums& whole,
                                                 double exact_bytes, double level);

/// As above, of a total of which a little is open: the estimate for the least total, with the upper
/// limit of that for the largest. Both limits grow with the total, so its coverage is that of the
/// true one.
[[nodiscard]] Checked<Estimate> calibrated_bytes(const NodeSums& part, const NodeSums& whole,
                                                 KnownTotal total, double level);

/// Only the value of calibrated_bytes, 0 on error: for sorting.
[[nodiscard]] double calibrated_value(const NodeSums& part, const NodeSums& whole,
                                      double exact_bytes);

/// Whether a part has enough samples to be calibrated: with fewer, its own interval, in the listed
/// form, is as good. The rule uses only their number. A rule that uses the estimated share ("the
/// dominant parts") selects results that came out large, and its coverage falls to .944 for a
/// threshold of 10 %, to .936 for 50 %
/// (docs/internals/estimators.md, section 13).
[[nodiscard]] bool has_enough_to_calibrate(const NodeSums& part);

inline constexpr std::uint64_t kSamplesToCalibrate = 5;

}  // namespace geiger::estimation
