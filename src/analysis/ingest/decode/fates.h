// Facts about a process that are known only when all of its segments have been read: thinned
// samples, missing segments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::ingest {

/// Marks the samples of a process that its thinning dropped.
void mark_thinned_out(profile::Recording& recording, std::uint32_t process);

/// What is missing, a line each: segments in between, parts of checkpoints.
[[nodiscard]] std::vector<std::string> faults_of(const profile::Process& process);

}  // namespace geiger::ingest
