// What is known of a process only when all of its segments are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::ingest {

/// Marks the samples of a process, the last one in the recording, that its thinning dropped.
void mark_thinned_out(profile::Recording& recording, std::uint32_t process);

/// What its segments lack, a line each: segments in between, parts of checkpoints.
[[nodiscard]] std::vector<std::string> faults_of(const profile::Process& process);

}  // namespace geiger::ingest
