// The estimates of every sampling design (study/designs.h) from the same samples: those
// of all allocations, or of one call site.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/profile/select/profile.h"
#include "analysis/profile/recording/recording.h"
#include "research/average_size.h"
#include "research/designs.h"

namespace geiger::research {

struct Designs {
  RatioSums sums;      ///< Ours, by requested bytes.
  DesignSums designs;  ///< Tried bytes are the requested ones.
  /// Scaled by the average size site by site, a site being a stack; certain objects
  /// added as they are.
  AverageSizeScaling by_average_size;
  /// The only T that anything was tried with; none if there were several.
  std::optional<Bytes> interval;
  /// Samples whose offset cannot be, as damaged traces have them: in `sums` only.
  std::uint64_t impossible = 0;
};

/// The samples that were chosen, or those of one `stack` among them. Their instants must
/// not have been chosen by a part of the samples: the other designs have no such parts.
[[nodiscard]] Designs designs_of(const profile::Recording& recording, const profile::Chosen& chosen,
                                 std::optional<std::uint32_t> stack = std::nullopt);
/// All samples.
[[nodiscard]] Designs designs_of(const profile::Recording& recording);

/// Samples with pi < 1 of one requested size, drawn in one epoch.
struct SizeSamples {
  Bytes size = 0;
  std::uint32_t epoch = 0;
  std::uint64_t samples = 0;
};

/// The `most` sizes with most samples, those first; equals by size.
[[nodiscard]] std::vector<SizeSamples> most_sampled_sizes(const profile::Recording& recording,
                                                          const profile::Chosen& chosen,
                                                          std::size_t most);

}  // namespace geiger::research
