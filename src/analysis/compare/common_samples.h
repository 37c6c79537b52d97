// Two recordings of one process: an object that both saw live is one sample, not two independent
// ones. docs/internals/estimators.md, Two recordings of one process.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::compare {

/// Indexes of the same process image in the recordings before and after.
using CommonImages = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A recording with what is selected of it.
struct Selected {
  const profile::Recording& recording;
  const profile::Selection& selection;
  const profile::Profile& profile;
};

/// The parts of two profiles that are not in the other one.
struct Moved {
  profile::Profile before, after;
};

/// Finds samples by their process image, address and time of birth. Nothing without common images,
/// of kinds that do not count whole objects, and where a part of the samples chose the instant:
/// such profiles are compared like those of different processes. Requires that common images have
/// the same level of thinning.
[[nodiscard]] std::optional<Moved> moved_between(const Selected& before, const Selected& after,
                                                 const CommonImages& images);

}  // namespace geiger::compare
