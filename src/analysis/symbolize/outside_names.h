// Names of code that no module holds: what JITs of the recorded processes wrote into perf maps.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "analysis/profile/recording.h"

namespace geiger::symbolize {

/// By location.
using OutsideNames = std::map<std::uint32_t, std::string>;

/// Names of `locations` from the maps of their processes in `directory`, and of their parents by
/// fork.
[[nodiscard]] OutsideNames name_outside(const profile::Recording& recording,
                                        const std::string& directory,
                                        std::span<const std::uint32_t> locations);

/// Removes the map that a process left in `directory`, as far as read_perf_map() would trust it.
void remove_map_of(const profile::Process& process, const std::string& directory);

}  // namespace geiger::symbolize
