// The share of intervals that can be expected to cover the truth, computed instead of assumed: an
// interval for counts covers at least its level, and for few samples clearly more. Tests against
// the truth compare with this.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "estimation/estimate.h"

namespace geiger::research {

/// `count` allocations of `size` bytes.
struct SizeGroup {
  Bytes size = 0;
  std::uint64_t count = 0;
};

/// All that a call site allocates in one run.
struct Site {
  std::vector<SizeGroup> objects;
  Bytes interval = 1;    ///< T >= 1.
  bool is_pure = false;  ///< Objects of at least T bytes are tried too.
};

/// Shares of runs, over the randomness of the sampler alone. With Form::kListed
/// the runs that gave the site at least one sample (s >= 1), for there are no
/// rows for the others; if there are none at all, `covered` is 1.
struct Coverage {
  double covered = 0;         ///< Interval of the bytes contains their true number.
  double missed_below = 0;    ///< The whole interval lies below the truth.
  double missed_above = 0;    ///< The whole interval lies above the truth.
  double listed = 0;          ///< P(s >= 1).
  double standard_error = 0;  ///< Of `covered`; 0 when computed exactly.
};

/// Exact where the objects tried have one size (enumerates s ~ Bin(n, pi));
/// else simulated by 20,000 runs from a fixed seed.
[[nodiscard]] Coverage predicted_coverage(const Site& site, double level, estimation::Form form);

/// `runs` >= 1 simulated runs, whatever the sizes. The total bytes of the site
/// must fit 63 bits.
[[nodiscard]] Coverage simulated_coverage(const Site& site, double level, estimation::Form form,
                                          std::uint64_t runs, std::uint64_t seed);

}  // namespace geiger::research
