// The facts, lifetimes and resident memory that a page shows above and beside its profiles.
#pragma once

#include <vector>

#include "analysis/page/page.h"
#include "analysis/page/page_data.h"
#include "analysis/profile/recording.h"

namespace geiger::page {

/// Curves of functions that a page has, beside the one of all.
inline constexpr std::size_t kMostCurves = 12;

/// Title, facts, warnings, version and level.
void add_header(PageData& data, const profile::Recording& recording, const PageOptions& options);

/// How long what the selection leaves lives: all of it, then the functions with most bytes.
/// Nothing of aggregated recordings and of heaps that the program manages itself.
[[nodiscard]] std::vector<Survival> survival_curves(const profile::Recording& recording,
                                                    const PageOptions& options);

/// What the resident set consisted of when it was largest; empty where it was not observed. First
/// the whole, then its parts, which add up to it.
[[nodiscard]] std::vector<AccountLine> resident_account(const profile::Recording& recording,
                                                        const PageOptions& options);

}  // namespace geiger::page
