// A profile summed by stack, for formats that contain only stacks and numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "estimation/sums.h"

namespace geiger::exports {

struct StackSums {
  std::uint32_t stack = profile::kNone;
  estimation::NodeSums sums;
};

/// One for each stack that something was sampled at, in order of stacks; open samples are open in
/// its sums.
[[nodiscard]] std::vector<StackSums> sums_by_stack(const profile::Recording& recording,
                                                   const profile::Profile& profile);

/// The bytes of each rounded to integers that add up to the rounded whole; and the objects.
[[nodiscard]] std::vector<std::int64_t> rounded_bytes(const std::vector<StackSums>& stacks);
[[nodiscard]] std::vector<std::int64_t> rounded_objects(const std::vector<StackSums>& stacks);

}  // namespace geiger::exports
