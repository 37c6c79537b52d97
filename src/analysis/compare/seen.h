// What one run saw, by label and stack: the parts that a collector adds up.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/compare/collector.h"
#include "analysis/profile/profile.h"
#include "estimation/sums.h"

namespace geiger::compare {

/// Adds what a run saw to a side of a site; `run` is its number there.
void add_run(SiteSide& side, const Seen& seen, std::uint32_t run);

/// When all runs are added: E, of `total`, and the bytes that are uneven where objects of at least
/// `certain_from` are certain on both sides.
void settle(SiteSide& side, double certain_from, const estimation::NodeSums& total);

/// Then, with callees included: leaves open what was cut in `total` and may pass through the site.
void leave_cut_open(SiteSide& side, const SiteSide& total);

/// Then, and before a side is scaled: E of both (estimation::settle_next_event).
void settle_next_event(SiteSide& before, SiteSide& after);

/// Adds a site to another that turned out to be the same.
void merge_side(SiteSide& into, const SiteSide& from);

/// What every stack of a profile saw.
[[nodiscard]] std::vector<std::pair<std::uint32_t, Seen>> seen_by_stack(
    const profile::Recording& recording, const profile::Profile& profile);

/// The profiles of the entries of each label, in the order of the labels; profile::kNone is last.
[[nodiscard]] std::vector<std::pair<std::uint32_t, profile::Profile>> parts_by_label(
    const profile::Profile& profile);

}  // namespace geiger::compare
