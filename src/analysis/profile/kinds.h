// The entries of a profile grouped by what an estimate depends on: size and rate.
//
// Entries are many, their kinds few. Sums over the kinds, in the order given here, are the same to
// the bit in whatever order the traces were read.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/profile.h"
#include "estimation/counts.h"

namespace geiger::profile {

struct Kinds {
  estimation::Counts counts;         ///< Canonical, over the whole profile.
  std::vector<std::uint32_t> order;  ///< Per entry, the index of its kind in `counts`;
                                     ///< kNone where it estimates nothing.
};

[[nodiscard]] Kinds kinds_of(const Recording& recording, const Profile& profile);

}  // namespace geiger::profile
