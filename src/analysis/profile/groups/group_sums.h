// Sums of the entries of a profile, group by group, the same to the bit in whatever order
// the traces were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

struct GroupSums {
  std::uint32_t group = 0;
  estimation::NodeSums sums;  ///< E is that of the profile.
};

/// The sums of every group that has entries, in an order that follows from the sums: adding them up
/// in this order gives the same bits wherever they came from. `group_of` gives a number below
/// `groups`.
[[nodiscard]] std::vector<GroupSums> sums_by(
    const Recording& recording, const Profile& profile, std::size_t groups,
    const std::function<std::uint32_t(const Entry&)>& group_of);

}  // namespace geiger::profile
