// The definition of skip_count.h.
#pragma once

#include "geiger/sampling/series.h"
#include "geiger/sampling/skip_count.h"

namespace geiger::sampling {

GEIGER_SAMPLING_INLINE std::uint64_t skip_count_of(std::uint64_t random_bits, double lambda) {
  return logarithm::skip_count(random_bits, lambda);
}

}  // namespace geiger::sampling
