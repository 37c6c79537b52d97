// Folded stacks: "root;caller;leaf BYTES" per line, the common denominator of
// flame graph tools. It holds no intervals; pprof export and the reports do.
#pragma once

#include "analysis/export/streams/sink.h"
#include "analysis/present/style.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// One line per distinct stack of functions, in order of their names, no two of which are the same.
/// The values
/// are estimated bytes; they add up to the rounded estimate of the profile.
/// Stacks that were cut off start with "[truncated]".
void write_folded(const profile::Recording& recording, const profile::Profile& profile,
                  const Sink& sink, present::Names names = present::Names::kShort);

}  // namespace geiger::exports
