// Files of one name in the releases of a service, which may have a path of their own each.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"

namespace geiger::fleet {

/// Stacks of a recording and the versions, numbered, that have them.
using StackVersions = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Whether two modules or scripts have one name, or several builds are at one path: then it matters
/// which versions have them.
[[nodiscard]] bool has_namesakes(const profile::Recording& recording,
                                 const std::set<std::string>& programs);

/// Makes files of one name that no version has together releases of one file, as a comparison of
/// versions takes them; so are the `programs`, paths of executables, whatever their names. Of
/// several that it could be, a file is the release of the one whose path ends most alike.
void join_releases(profile::Recording& recording, const StackVersions& versions,
                   const std::set<std::string>& programs);

}  // namespace geiger::fleet
