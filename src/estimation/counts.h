// The samples of a node as counts, that is whole numbers, before anything is computed from them.
//
// Sums of doubles depend on the order of adding in their last bits. Counts do not: to
// merge threads, processes or hosts is to add integers, and sums taken from counts in
// one fixed order are the same to the bit however the samples came together.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// The rate of what is recorded with certainty.
inline constexpr double kCertainRate = std::numeric_limits<double>::infinity();

/// `count` samples alike in all that an estimate depends on.
struct Count {
  Bytes size = 0;
  double lambda = kCertainRate;  ///< Rate that drew them; kCertainRate = pi 1.
  std::uint64_t count = 0;
  Bytes value = kWholeSize;  ///< Bytes to sum for each, if not its size (sums.h).
  double keep = 1;           ///< Probability in (0, 1] to be kept once drawn (sums.h).

  friend bool operator==(const Count&, const Count&) = default;
};

[[nodiscard]] inline bool is_alike(const Count& a, const Count& b) {
  return a.size == b.size && a.lambda == b.lambda && a.value == b.value && a.keep == b.keep;
}

/// Whether nothing of the kind can have been missed.
[[nodiscard]] inline bool is_certain(const Count& count) {
  return count.lambda == kCertainRate && count.keep >= 1;
}

/// pi of the kind: keep (1 - e^(-lambda size)).
[[nodiscard]] double inclusion_probability(const Count& count);

/// Canonical: ordered by size, then by rate, by value and by what is kept, no two alike in
/// these, none that estimates nothing (no count, no positive rate, no value, none kept).
/// Everything below gives and, where it says so, requires this.
using Counts = std::vector<Count>;

/// Brings counts in any order and repetition to the canonical form.
void make_canonical(Counts& counts);

/// Adds `count` samples of the kind that `kind` is, whatever its own count.
void add(NodeSums& sums, const Count& kind, std::uint64_t count);

/// The sums of `counts`, added in order. Requires canonical ones. E is what the samples themselves
/// imply: state the intervals in force with could_have_sampled.
[[nodiscard]] NodeSums sums_of(std::span<const Count> counts);

}  // namespace geiger::estimation
