// The kinds of profiles as a page offers them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

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

/// The name of a kind, and its meaning in a sentence. `is_followed`: the end is now (PageOptions).
[[nodiscard]] std::string title_of(profile::Kind kind, bool is_followed);
[[nodiscard]] std::string_view about(profile::Kind kind, bool is_followed);
/// kKinds as a page has them.
[[nodiscard]] std::vector<profile::Kind> kinds_in_order(bool is_followed);

/// Why this recording has no data for `selection` of its kind; empty if it has.
[[nodiscard]] std::string why_unavailable(const profile::Recording& recording,
                                          const profile::Selection& selection);

}  // namespace geiger::page
