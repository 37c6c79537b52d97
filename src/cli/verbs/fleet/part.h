// The part of a fleet that a verb reports on, in words and as a profile.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/present/scope.h"
#include "analysis/profile/profile.h"
#include "fleet/ask/ask.h"
#include "fleet/store/store.h"

namespace geiger::cli {

/// Of a kind of memory in a fleet, in the words of a heading.
[[nodiscard]] present::Scope scope_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                                      profile::Kind kind);

/// How much of a filter's selection was recorded.
[[nodiscard]] present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Reach& reach);
/// With an estimate for all hosts, if something was not recorded. `profile`: of the fleet's
/// recording.
[[nodiscard]] present::Coverage coverage_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                                            const profile::Profile& profile, double level);

/// A profile of a fleet's recording. Live samples were counted once per millisecond of the range.
[[nodiscard]] profile::Profile select_in(const profile::Recording& recording, profile::Kind kind,
                                         std::uint64_t range_ms);

}  // namespace geiger::cli
