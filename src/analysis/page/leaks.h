// The verdicts of `geiger leaks` for a page: every site with its node in the call tree.
#pragma once

#include <optional>
#include <span>

#include "analysis/page/items.h"
#include "analysis/page/page.h"
#include "analysis/page/page_data.h"
#include "analysis/profile/recording.h"

namespace geiger::page {

/// Nothing where leaks cannot be judged: of a part of a recording, of one that is followed, and
/// where the times of samples are not known.
[[nodiscard]] std::optional<Leaks> leaks_of(const profile::Recording& recording,
                                            const PageOptions& options, Gathering& gathering);

/// Their nodes numbered as the page's are: `moved`, per node of the call tree.
void renumber(Leaks& leaks, std::span<const std::uint32_t> moved);

}  // namespace geiger::page
