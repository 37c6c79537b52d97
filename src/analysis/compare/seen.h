// What one run saw, by label and stack: the parts that a collector adds up.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/compare/collector.h"
#include "analysis/profile/profile.h"
#include "estimation/sums.h"

namespace geiger::compare {

/// What one run, or one stack of it, saw at a site.
struct Seen {
  estimation::NodeSums sums;
  CertainSizes certain;

  void merge(const Seen& other) {
    sums.merge(other.sums);
    for (const auto& [size, count] : other.certain) certain[size] += count;
  }
};

/// Adds what a run saw to a side of a site; `run` is its number there.
void add_run(SiteSide& side, const Seen& seen, std::uint32_t run);

/// Adds a site to another that turned out to be the same.
void merge_side(SiteSide& into, const SiteSide& from);

/// What every stack of a profile saw.
[[nodiscard]] std::vector<std::pair<std::uint32_t, Seen>> seen_by_stack(
    const profile::Recording& recording, const profile::Profile& profile);

/// The profiles of the entries of each label, in the order of the labels; profile::kNone is last.
[[nodiscard]] std::vector<std::pair<std::uint32_t, profile::Profile>> parts_by_label(
    const profile::Profile& profile);

}  // namespace geiger::compare
