// Cuts frames that say nothing about the program off the leaf of every stack.
#pragma once

#include <cstddef>
#include <functional>

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// How many of a stack's frames, leaf first and inlined ones counted, to cut.
using LeadingFrames = std::function<std::size_t(const Recording&, const Stack&)>;

/// Cuts them. Where only some of the frames inlined at a location are to go, a location with the
/// others is added and takes its place. The outermost frame always stays. Stacks that become alike
/// become one, and the samples follow. Returns how many stacks got shorter.
std::size_t trim(Recording& recording, const LeadingFrames& leading);

}  // namespace geiger::profile
