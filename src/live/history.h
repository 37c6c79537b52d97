// The past of a live view, in bounded memory.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"
#include "estimation/estimate.h"

namespace geiger::live {

/// A time span: one update, or several merged ones.
struct HistoryPoint {
  Nanoseconds from = 0, to = 0;
  estimation::Interval live;  ///< Bytes; the ends that enclose those of all looks.
  double resident = 0;        ///< Largest.
};

/// When it is full, neighbours are merged by twos and points last twice as long.
class LiveHistory {
 public:
  void add(Nanoseconds time, const estimation::Interval& live, Bytes resident);

  [[nodiscard]] bool is_empty() const { return points_.empty(); }
  [[nodiscard]] Nanoseconds length() const;
  /// At most `columns` points, the latest last: every point its own, or alike in number.
  [[nodiscard]] std::vector<HistoryPoint> columns(std::size_t columns) const;

 private:
  static constexpr std::size_t kMostPoints = 4096;

  std::vector<HistoryPoint> points_;
  std::size_t updates_per_point_ = 1;
  std::size_t updates_in_last_ = 0;
};

}  // namespace geiger::live
