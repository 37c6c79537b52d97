#include "analysis/observe/series.h"

#include <algorithm>

namespace geiger::observe {
namespace {

using profile::SeriesPoint;

/// The later one goes into the earlier.
void merge(SeriesPoint& into, const SeriesPoint& from) {
  const Bytes least = std::min(into.least, from.least);
  if (from.counts.resident > into.counts.resident) into = from;
  into.least = least;
}

}  // namespace

void Series::add(Nanoseconds time, const profile::MemoryCounts& counts) {
  const SeriesPoint point{time, counts, counts.resident};
  // A reading that comes a little early starts a point all the same.
  if (!points_.empty() && time < opened_ + step_ - step_ / 4) return merge(points_.back(), point);
  if (points_.size() == kMostPoints) {
    thin();
    return add(time, counts);
  }
  points_.push_back(point);
  opened_ = time;
}

void Series::thin() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    points_[i] = points_[2 * i];
    merge(points_[i], points_[2 * i + 1]);
  }
  points_.resize(points_.size() / 2);
  step_ *= 2;
}

}  // namespace geiger::observe
