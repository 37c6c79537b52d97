// The profiles that the program holds: from a start to a stop, and of what is live.
#pragma once

#include <memory>

#include "api/session.h"
#include "geiger/geiger.h"

namespace geiger::api {

// The table of profiles that the program holds, by handle.

/// Adds a profile and returns its id.
[[nodiscard]] std::uint64_t add_profile(Session& now, std::shared_ptr<Profile> profile);

/// Finds the profile of a handle, with its samples read. It stays valid for the caller even if
/// another thread frees it.
[[nodiscard]] geiger_status find_profile(geiger_profile handle, std::shared_ptr<Profile>& found);

}  // namespace geiger::api
