// A profile summed by stack, for formats that contain only stacks and numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

using profile::StackSums;

/// profile::sums_by_stack() in order of stacks.
[[nodiscard]] std::vector<StackSums> sums_in_order(const profile::Recording& recording,
                                                   const profile::Profile& profile);

/// The bytes of each rounded to integers that add up to the rounded whole; and the objects.
[[nodiscard]] std::vector<std::int64_t> rounded_bytes(const std::vector<StackSums>& stacks);
[[nodiscard]] std::vector<std::int64_t> rounded_objects(const std::vector<StackSums>& stacks);

}  // namespace geiger::exports
