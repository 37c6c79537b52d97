// Sums that tests of comparisons are made of.
#pragma once

#include <cstdint>

#include "estimation/sums.h"

namespace geiger::estimation {

/// `samples` objects so small that each stands for one interval.
inline NodeSums tiny(std::uint64_t samples, double interval) {
  const auto n = static_cast<double>(samples);
  NodeSums sums;
  sums.samples = samples;
  sums.weighted_bytes = n * interval;
  sums.bytes_variance = n * interval * interval;
  sums.largest_interval = sums.smallest_interval = interval;
  return sums;
}

/// One object that was recorded with certainty.
inline NodeSums certain(Bytes bytes) {
  NodeSums sums;
  sums.add_certain(bytes);
  return sums;
}

}  // namespace geiger::estimation
