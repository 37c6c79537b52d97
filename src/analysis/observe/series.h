// A series of memory readings over time, in bounded space.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

/// Readings, each kept until there are too many; then neighbours are merged two by two
/// and the step doubles. So a series of any length keeps between half of the limit and
/// the limit, evenly spread, and neither its largest nor its smallest reading is lost.
class Series {
 public:
  static constexpr std::size_t kMostPoints = 4096;
  static constexpr Nanoseconds kFirstStep = 100'000'000;

  /// `time` does not fall. A reading within the step of the last point merges with it.
  void add(Nanoseconds time, const profile::MemoryCounts& counts);

  /// How far points lie apart: reading more often adds nothing but extremes.
  [[nodiscard]] Nanoseconds step() const { return step_; }
  [[nodiscard]] const std::vector<profile::SeriesPoint>& points() const { return points_; }

 private:
  void thin();

  std::vector<profile::SeriesPoint> points_;
  Nanoseconds step_ = kFirstStep;
  Nanoseconds opened_ = 0;  ///< Time of the first reading of the last point.
};

}  // namespace geiger::observe
