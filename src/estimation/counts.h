// The samples of a node as integer counts, before anything is computed from them.
//
// The last bits of sums of doubles depend on the order of addition. Counts do not: threads,
// processes or hosts are merged by adding integers, and sums computed from counts in a fixed order
// are identical to the bit, however the samples were merged.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// The rate of samples recorded with certainty.
inline constexpr double kCertainRate = std::numeric_limits<double>::infinity();

/// `count` samples that are equal in everything that an estimate depends on.
struct Count {
  Bytes size = 0;
  double lambda = kCertainRate;  ///< Rate that drew them; kCertainRate = pi 1.
  std::uint64_t count = 0;
  Bytes value = kWholeSize;  ///< Bytes to add for each, if not its size (sums.h).
  double keep = 1;           ///< Probability in (0, 1] to be kept once drawn (sums.h).

  friend bool operator==(const Count&, const Count&) = default;
};

[[nodiscard]] inline bool is_alike(const Count& a, const Count& b) {
  return a.size == b.size && a.lambda == b.lambda && a.value == b.value && a.keep == b.keep;
}

/// Whether no object of this kind can have been missed.
[[nodiscard]] inline bool is_certain(const Count& count) {
  return count.lambda == kCertainRate && count.keep >= 1;
}

/// pi of the kind: keep (1 - e^(-lambda size)).
[[nodiscard]] double inclusion_probability(const Count& count);

/// Canonical: ordered by size, then rate, value and keep; no two equal in these; none that
/// estimates nothing (zero count, rate, value or keep). All functions below return this form and,
/// where stated, require it.
using Counts = std::vector<Count>;

/// Brings counts in any order and repetition to the canonical form.
void make_canonical(Counts& counts);

/// Adds `count` samples of this kind; ignores kind.count.
void add(NodeSums& sums, const Count& kind, std::uint64_t count);

/// The sums of `counts`, added in order. Requires canonical counts. E is only the value implied by
/// the samples: add the intervals in force with could_have_sampled.
[[nodiscard]] NodeSums sums_of(std::span<const Count> counts);

}  // namespace geiger::estimation
