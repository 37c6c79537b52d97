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
  friend HeapBytes operator+(HeapBytes a, const HeapBytes& b) {
    a.add(b);
    return a;
  }
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
  /// at any instant (docs/internals/estimators.md, section 11). `largest_interval`: E. `level`:
  /// that of `one`.
  [[nodiscard]] Estimate estimate_largest(Estimate one, Nanoseconds from, Nanoseconds to,
                                          double largest_interval, double level) const;

 private:
  std::vector<HeapStep> steps_;
};

/// A heap by what of it belongs to a part: surely, perhaps, not.
struct PartedHeap {
  HeapBytes part, open, rest;

  void add(const PartedHeap& other) {
    part.add(other.part);
    open.add(other.open);
    rest.add(other.rest);
  }
  [[nodiscard]] PartedHeap operator-() const { return {-part, -open, -rest}; }
};

struct PartedStep {
  Nanoseconds time = 0;
  PartedHeap change;
};

/// The limits of what a part of a heap has at the instant of from <= t < to at which the heap is
/// largest (docs/internals/estimators.md, section 11). The heap was at least `one`, which is
/// independent of where it was found. `largest_interval`: E. Each limit misses with (1 - level)/2
/// at most.
[[nodiscard]] Interval limits_at_largest(std::vector<PartedStep> steps, const HeapBytes& one,
                                         Nanoseconds from, Nanoseconds to, double largest_interval,
                                         double level);

}  // namespace geiger::estimation
