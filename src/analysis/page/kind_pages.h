// The kinds of profiles as a page offers them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::page {

/// In the order of the page's switch.
inline constexpr std::array kKinds{
    profile::Kind::kAllocated, profile::Kind::kLiveAtEnd,    profile::Kind::kLiveAtPeak,
    profile::Kind::kResident,  profile::Kind::kSwapped,      profile::Kind::kUntouched,
    profile::Kind::kStranded,  profile::Kind::kLiveOverhead, profile::Kind::kOverhead,
    profile::Kind::kMapped,    profile::Kind::kMappedAtPeak, profile::Kind::kMappedTotal,
    profile::Kind::kReserved,  profile::Kind::kMappedFiles};

/// What a kind tells, in a sentence.
[[nodiscard]] std::string_view about(profile::Kind kind);

/// Why `selection` of its kind cannot be told of this recording; empty if it can.
[[nodiscard]] std::string why_unavailable(const profile::Recording& recording,
                                          const profile::Selection& selection);

}  // namespace geiger::page
