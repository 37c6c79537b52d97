// The samples, and the interval, that a precision requires.
#pragma once

#include <optional>

namespace geiger::estimation {

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

}  // namespace geiger::estimation
