// What every sampling design makes of the same samples (estimation/designs.h):
// everything allocated, or one call site of it.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/profile/recording.h"
#include "estimation/designs.h"
#include "estimation/sums.h"

namespace geiger::profile {

struct Designs {
  estimation::NodeSums sums;       ///< Ours, by requested bytes.
  estimation::DesignSums designs;  ///< Tried bytes are the requested ones.
  /// Scaled by the average size site by site, a site being a stack; certain objects
  /// added as they are.
  estimation::AverageSizeScaling by_average_size;
  /// T of all uncertain samples, if that is one.
  std::optional<Bytes> interval;
  /// Samples whose offset cannot be, as damaged traces have them: in `sums` only.
  std::uint64_t impossible = 0;
};

/// All samples, or those of one `stack`.
[[nodiscard]] Designs designs_of(const Recording& recording,
                                 std::optional<std::uint32_t> stack = std::nullopt);

}  // namespace geiger::profile
