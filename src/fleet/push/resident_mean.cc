#include "fleet/push/resident_mean.h"

#include <algorithm>

namespace geiger::fleet {

void ResidentMean::add(Nanoseconds now, Bytes bytes) {
  if (bytes_ == 0) begin_ = now;
  sum_ = sum_until(now);
  latest_ = now;
  bytes_ = bytes;
}

double ResidentMean::sum_until(Nanoseconds now) const {
  return sum_ + static_cast<double>(bytes_) * static_cast<double>(now - std::min(now, latest_));
}

std::uint64_t ResidentMean::byte_seconds(Nanoseconds now, Nanoseconds length) const {
  constexpr double kPerSecond = 1e9;
  const auto covered = static_cast<double>(now - std::min(now, begin_));
  const double mean = covered > 0 ? sum_until(now) / covered : static_cast<double>(bytes_);
  return static_cast<std::uint64_t>(mean * static_cast<double>(length) / kPerSecond);
}

void ResidentMean::begin_anew(Nanoseconds now) {
  begin_ = latest_ = now;
  sum_ = 0;
}

}  // namespace geiger::fleet
