// The comments of a pprof profile, which pprof shows above every report: where the numbers come
// from, and how uncertain the totals are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// `allocated`: null where the alloc_* columns are empty. `level`: of the intervals, in (0, 1).
/// `part`: what part of the recording it is, a line; empty: all of it.
[[nodiscard]] std::vector<std::string> pprof_comments(const profile::Recording& recording,
                                                      const profile::Profile* allocated,
                                                      const profile::Profile& live, double level,
                                                      std::string_view part);

}  // namespace geiger::exports
