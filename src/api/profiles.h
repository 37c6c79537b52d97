// The table of profiles that the program holds, by handle.
#pragma once

#include <memory>

#include "api/session.h"
#include "geiger/geiger.h"

namespace geiger::api {

/// The id under which it can be asked for from now on.
[[nodiscard]] std::uint64_t add_profile(Session& now, std::shared_ptr<Profile> profile);

/// The profile of a handle with its samples read. It stays whole for its holder while another
/// thread frees it.
[[nodiscard]] geiger_status find_profile(geiger_profile handle, std::shared_ptr<Profile>& found);

}  // namespace geiger::api
