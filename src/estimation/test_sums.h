// Sums that tests of comparisons are made of.
#pragma once

#include <cstdint>

#include "estimation/sums.h"

namespace geiger::estimation {

/// `samples` objects so small that each stands for one interval.
inline NodeSums tiny(std::uint64_t samples, double interval) {
  const auto n = static_cast<double>(samples);
  return {.samples = samples,
          .weighted_bytes = n * interval,
          .bytes_variance = n * interval * interval,
          .largest_interval = interval,
          .smallest_interval = interval};
}

}  // namespace geiger::estimation
