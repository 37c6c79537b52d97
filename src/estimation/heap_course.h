// How the estimated live heap changed over time: where it was largest, and how large it may have
// been at most.
#pragma once

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::estimation {

/// Bytes of a live heap, as samples estimate them, or a change of it.
struct HeapBytes {
  double weighted = 0;  ///< Y, certain ones included.
  double seen = 0;      ///< B, certain ones included.
  double variance = 0;  ///< V.

  void add(const HeapBytes& other) {
    weighted += other.weighted;
    seen += other.seen;
    variance += other.variance;
  }
  [[nodiscard]] HeapBytes operator-() const { return {-weighted, -seen, -variance}; }
};
[[nodiscard]] HeapBytes heap_bytes(const NodeSums& sums);

struct HeapStep {
  Nanoseconds time = 0;
  HeapBytes change;
};

/// The steps of a heap, by time; those of one instant count together.
class HeapCourse {
 public:
  HeapCourse() = default;
  explicit HeapCourse(std::vector<HeapStep> steps);

  /// The largest heap of the instants from <= t < to, at the first of them that has it; {} where
  /// none is above 0.
  [[nodiscard]] HeapStep largest(Nanoseconds from, Nanoseconds to) const;

  /// The estimate of the largest heap among the instants from <= t < to, made from that of one of
  /// them: the upper limit becomes the largest one that the steps, which are of all samples, have
  /// at any instant (docs/estimators.md, section 11). `largest_interval`: E. `level`: that of
  /// `one`.
  [[nodiscard]] Estimate estimate_largest(Estimate one, Nanoseconds from, Nanoseconds to,
                                          double largest_interval, double level) const;

 private:
  template <typename Visit>
  void for_each_heap(Nanoseconds from, Nanoseconds to, const Visit& visit) const;

  std::vector<HeapStep> steps_;
};

}  // namespace geiger::estimation
