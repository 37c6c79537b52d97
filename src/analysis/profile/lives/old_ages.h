// From which age the objects of a site count as old: older than 95 % of the freed bytes became.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Bytes that a sample stands for, where fates count.
[[nodiscard]] double weight_of(const Recording& recording, const Sample& sample);

/// By size class.
using AgesBySize = std::array<std::optional<Nanoseconds>, kSizeClasses>;

/// Nothing of too few freed objects.
[[nodiscard]] std::optional<Nanoseconds> old_from(const Recording& recording,
                                                  std::span<const std::uint32_t> samples);
/// Over the whole recording.
[[nodiscard]] AgesBySize old_from_by_size(const Recording& recording);

}  // namespace geiger::profile
