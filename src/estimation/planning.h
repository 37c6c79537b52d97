// What sampling can show: samples for a precision, intervals to find a change.
#pragma once

#include <optional>
#include <span>

#include "estimation/difference.h"

namespace geiger::estimation {

// The samples, and the interval, that a precision requires.

/// Expected samples of small objects with which the wider side of the FF-SG interval
/// is `precision` (> 0; 0.05 = 5 %) of the value: the s with gq(1 - alpha/2; s + 1,
/// s + 1) = s (1 + precision). No result for an impossible precision or level.
[[nodiscard]] std::optional<double> samples_for_precision(double precision, double level);

/// The inverse: the relative width of the wider side for `samples` >= 0 samples of small objects;
/// +inf for none.
[[nodiscard]] double precision_of(double samples, double level);

/// The largest round interval not above `interval` >= 1: below 1 KiB a whole number of bytes, from
/// there a multiple of a quarter of a power of two (320 KiB, 1.25 MiB).
[[nodiscard]] double round_interval(double interval);

// Predicts what sampling can show: samples and intervals needed to find a change, probabilities and
// errors at a given interval. All figures are expectations for planning; the results of a recording
// have their own intervals.

/// Expected samples of small objects on the before side so that a relative `change`
/// (0.1 = grows by a tenth; above -1, not 0) is found at the two-sided level `alpha` with
/// probability `power`, both sides recorded in the same way:
/// (z_alpha/2 + z_power)^2 (2 + x) / x^2. Accurate to 3 % for |x| <= 0.5, up to 10 % too many for
/// changes to a multiple. alpha and power in (0, 1), power > alpha; no result for other input.
[[nodiscard]] std::optional<double> samples_needed(double change, double alpha, double power);

/// P(at least one sample) of `bytes` bytes in objects of any sizes, 1 - e^(-lambda
/// bytes). In [0, 1]; 1 at T = 1, 0 for no bytes.
[[nodiscard]] double chance_to_see(double bytes, double interval);

/// Relative difference between the bytes that one sampled object of `size` >= 1 bytes represents,
/// size/pi, and its size: (1 - pi)/pi. 0 if it is certain: from `interval` bytes on.
[[nodiscard]] double error_of_sampled_object(double size, double interval);

/// `count` objects (an estimate, hence not whole) of `size` bytes.
struct Objects {
  double size = 0;
  double count = 0;
};

/// The expected contents of a recording with one interval, for a node.
struct Expected {
  double samples = 0;         ///< Tried and drawn.
  double certain = 0;         ///< Recorded with certainty.
  double chance = 0;          ///< Of at least one of either.
  double relative_error = 0;  ///< Standard deviation of the estimated bytes over the bytes.
};

/// `interval` = T >= 1. Objects of at least T bytes are certain unless `is_pure`.
/// Objects without size or count are skipped.
[[nodiscard]] Expected expected(std::span<const Objects> node, double interval, bool is_pure);

// A leak in a recording that begins late, judged by the chunks of its process's heap in use
// (docs/internals/estimators.md, Recordings that begin late).

/// Seconds of recording after which a leak of `leak` > 0 bytes a second at one site is found with
/// probability .8, once the objects that other sites had before are replaced. `others`: bytes a
/// second that other sites keep in objects of its sizes, 0 if they keep nothing.
[[nodiscard]] double seconds_to_find_leak(double leak, double others, double interval);

/// The smallest such leak, in bytes a second, that `seconds` > 0 find for whatever part of `others`
/// is in objects of its sizes.
[[nodiscard]] double leak_found_in(double seconds, double others, double interval);

/// The factor by which samples must increase (a smaller interval, or more runs) to place the growth
/// on one side of `limit` with probability `power`, if its estimate is true. `level` is that of
/// `growth`. At least 1; 1 if it is already on one side. No result if no factor decides: the
/// estimate equals the limit, or is unknown.
[[nodiscard]] std::optional<double> effort_to_decide(const Growth& growth, double limit,
                                                     double level, double power);

}  // namespace geiger::estimation
