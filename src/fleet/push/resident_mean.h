// Resident memory of a process over a window: each reading holds until the next one.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::fleet {

class ResidentMean {
 public:
  /// The process has this many bytes from now on.
  void add(Nanoseconds now, Bytes bytes);
  /// Bytes x seconds of a window of `length` that ends now. What lies before the first reading
  /// counts with the mean of the rest; 0 if there is no reading.
  [[nodiscard]] std::uint64_t byte_seconds(Nanoseconds now, Nanoseconds length) const;
  /// Begins the next window, in which the latest reading still holds.
  void begin_anew(Nanoseconds now);

 private:
  [[nodiscard]] double sum_until(Nanoseconds now) const;

  Nanoseconds begin_ = 0, latest_ = 0;
  Bytes bytes_ = 0;  ///< 0: no reading yet.
  double sum_ = 0;   ///< Bytes x nanoseconds up to the latest reading.
};

}  // namespace geiger::fleet
