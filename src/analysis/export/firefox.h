// The Firefox profiler's processed format: allocations on a timeline.
#pragma once

#include "analysis/export/streams/sink.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

/// Every process as one thread whose native allocations are the sampled objects of `part`, each
/// with the bytes that it stands for, and their frees; the live heap, and RSS where it was
/// observed, as counters. Bytes are integers that add up to the rounded estimate of what was
/// allocated. Requires a recording that follows its samples.
void write_firefox(const profile::Recording& recording, const profile::Selection& part,
                   const Sink& sink, present::Names names = present::Names::kShort);

}  // namespace geiger::exports
