// Cuts recordings: at an earlier end, and frames that say nothing off the leaf of every stack.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

// Cuts a recording down to what it would contain had it ended earlier.

/// Forgets samples and frees from `instant` (CLOCK_MONOTONIC) on and ends processes there;
/// those that began later keep no sample. What threads counted stays: it is known for
/// their whole time only. Utilization and residency answers, which name samples by index, are
/// dropped.
void cut_at(Recording& recording, Nanoseconds instant);
/// Cuts each process at an instant of its own: `instants` by process.
void cut_at(Recording& recording, std::span<const Nanoseconds> instants);

/// From now on the object is alive at the end.
void forget_free(Sample& sample);

// Cuts frames that say nothing about the program off the leaf of every stack.

/// How many of a stack's frames, leaf first and inlined ones counted, to cut.
using LeadingFrames = std::function<std::size_t(const Recording&, const Stack&)>;

/// Cuts them. Where only some of the frames inlined at a location are to go, a location with the
/// others is added and takes its place. The outermost frame always stays. Stacks that become alike
/// become one, and the samples follow. Returns how many stacks got shorter.
std::size_t trim(Recording& recording, const LeadingFrames& leading);

}  // namespace geiger::profile
