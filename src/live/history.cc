#include "live/history.h"

#include <algorithm>

namespace geiger::live {
namespace {

void merge(HistoryPoint& point, const HistoryPoint& other) {
  point.to = other.to;
  point.live.lo = std::min(point.live.lo, other.live.lo);
  point.live.hi = std::max(point.live.hi, other.live.hi);
  point.resident = std::max(point.resident, other.resident);
}

}  // namespace

void LiveHistory::add(Nanoseconds time, const estimation::Interval& live, Bytes resident) {
  const HistoryPoint look{time, time, live, static_cast<double>(resident)};
  if (points_.empty() || updates_in_last_ == updates_per_point_) {
    if (points_.size() == kMostPoints) {
      for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
        points_[i] = points_[2 * i];
        merge(points_[i], points_[2 * i + 1]);
      }
      points_.resize(kMostPoints / 2);
      updates_per_point_ *= 2;
    }
    points_.push_back(look);
    updates_in_last_ = 1;
    return;
  }
  merge(points_.back(), look);
  ++updates_in_last_;
}

Nanoseconds LiveHistory::length() const {
  return points_.empty() ? 0 : points_.back().to - points_.front().from;
}

std::vector<HistoryPoint> LiveHistory::columns(std::size_t columns) const {
  if (points_.size() <= columns || columns == 0) return points_;
  std::vector<HistoryPoint> drawn;
  drawn.reserve(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * points_.size() / columns;
    const std::size_t end = (column + 1) * points_.size() / columns;
    drawn.push_back(points_[begin]);
    for (std::size_t i = begin + 1; i < end; ++i) merge(drawn.back(), points_[i]);
  }
  return drawn;
}

}  // namespace geiger::live
