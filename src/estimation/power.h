// Predicts what sampling can show: samples and intervals needed to find a change, chances and
// errors at a given interval. Every figure here is an expectation for a plan; what a recording then
// shows has its own interval.
#pragma once

#include <optional>
#include <span>

#include "estimation/difference.h"

namespace geiger::estimation {

/// Expected samples of small objects on the before side so that a relative `change`
/// (0.1 = grows by a tenth; above -1, not 0) is found at the two-sided level `alpha`
/// with probability `power`, both sides recorded alike:
/// (z_alpha/2 + z_power)^2 (2 + x) / x^2. Right within 3 % for |x| <= 0.5, up to 10 %
/// too many for changes to a multiple. alpha and power in (0, 1), power > alpha;
/// nothing for other input.
[[nodiscard]] std::optional<double> samples_needed(double change, double alpha, double power);

/// P(at least one sample) of `bytes` bytes in objects of any sizes, 1 - e^(-lambda
/// bytes). In [0, 1]; 1 at T = 1, 0 for no bytes.
[[nodiscard]] double chance_to_see(double bytes, double interval);

/// How far the bytes that one sampled object of `size` >= 1 bytes stands for, size/pi, are from
/// its size: (1 - pi)/pi of it. 0 where it is certain: from `interval` bytes on.
[[nodiscard]] double error_of_sampled_object(double size, double interval);

/// `count` objects (an estimate, hence not whole) of `size` bytes.
struct Objects {
  double size = 0;
  double count = 0;
};

/// What a recording with one interval will hold of a node.
struct Expected {
  double samples = 0;         ///< Tried and drawn.
  double certain = 0;         ///< Recorded with certainty.
  double chance = 0;          ///< Of at least one of either.
  double relative_error = 0;  ///< Standard deviation of the estimated bytes over the bytes.
};

/// `interval` = T >= 1. Objects of at least T bytes are certain unless `is_pure`.
/// Objects without size or count are skipped.
[[nodiscard]] Expected expected(std::span<const Objects> node, double interval, bool is_pure);

/// How many times as many samples (a smaller interval, or more runs) would put the
/// growth on one side of `limit` with probability `power`, if it is what it seems to
/// be. `level` is that of `growth`. At least 1; 1 where it already lies on one side.
/// Nothing where no amount decides: the growth seems to be the limit itself, or is
/// not known at all.
[[nodiscard]] std::optional<double> effort_to_decide(const Growth& growth, double limit,
                                                     double level, double power);

}  // namespace geiger::estimation
