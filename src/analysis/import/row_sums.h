// Recovers the samples of a row of a pprof profile: from its sums where geiger wrote them, else
// from its value.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "estimation/counts.h"

namespace geiger::imports {

/// The sums of a row for one kind of profile.
struct RowSums {
  Bytes size = 0;  ///< Of each object.
  std::uint64_t samples = 0;
  double objects = 0, bytes = 0, bytes_variance = 0;  ///< Estimates, rounded to whole numbers.
};

/// Kinds of samples with the row's number, bytes and variance. Where all were drawn with `lambda`,
/// that is their kind. Rows that mix rates (of a writer that does not distinguish them, or merged
/// by a tool) become two kinds at most with the same three sums.
[[nodiscard]] std::vector<estimation::Count> samples_behind(const RowSums& row, double lambda);

/// How many samples a value was estimated from, where it is count / pi, rounded down (Go) or to
/// the nearest. 0 of a value below one sample's share.
[[nodiscard]] std::uint64_t unscaled(std::int64_t value, double pi);

}  // namespace geiger::imports
