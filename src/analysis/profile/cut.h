// Cuts a recording down to what it would contain had it ended earlier.
#pragma once

#include <span>

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Forgets samples and frees from `instant` (CLOCK_MONOTONIC) on and ends processes there;
/// those that began later keep no sample. What threads counted stays: it is known for
/// their whole time only. Utilization and residency answers, which name samples by index, are
/// dropped.
void cut_at(Recording& recording, Nanoseconds instant);
/// Cuts each process at an instant of its own: `instants` by process.
void cut_at(Recording& recording, std::span<const Nanoseconds> instants);

}  // namespace geiger::profile
