// What every sampling design makes of the same samples (estimation/designs.h):
// everything allocated, or one call site of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  /// The only T that anything was tried with; none if there were several.
  std::optional<Bytes> interval;
  /// Samples whose offset cannot be, as damaged traces have them: in `sums` only.
  std::uint64_t impossible = 0;
};

/// All samples, or those of one `stack`.
[[nodiscard]] Designs designs_of(const Recording& recording,
                                 std::optional<std::uint32_t> stack = std::nullopt);

/// Samples with pi < 1 of one requested size, drawn in one epoch.
struct SizeSamples {
  Bytes size = 0;
  std::uint32_t epoch = 0;
  std::uint64_t samples = 0;
};

/// The `most` sizes with most samples, those first; equals by size.
[[nodiscard]] std::vector<SizeSamples> most_sampled_sizes(const Recording& recording,
                                                          std::size_t most);

}  // namespace geiger::profile
