// The free bytes that live samples answer for, of one process at one instant.
#pragma once

#include <span>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/pagemap.h"
#include "analysis/observe/proc_text.h"
#include "analysis/observe/process_files.h"
#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

/// Without the blocks that Python allocates from arenas of its own: malloc's heap has no chunks for
/// them.
[[nodiscard]] std::vector<LiveSample> without_pools(std::span<const LiveSample> samples);

/// A sample that was not a chunk of its heap must have been freed meanwhile.
[[nodiscard]] bool all_were_freed(const std::vector<trace::Ref>& unmatched,
                                  TraceFollower& follower);

/// What geiger's own malloc uses its memory for, into Snapshot::census, and add_waste() of it if
/// `wants_waste`. Nothing where it makes no sense.
void add_census(const ProcessFiles& files, std::span<const Mapping> mappings, Pagemap& pagemap,
                std::span<const LiveSample> samples, TraceFollower& follower, bool wants_waste,
                profile::Snapshot& snapshot);

/// Of other allocators: fills Snapshot::waste or says in Snapshot::waste_fault why it cannot.
/// `samples` are the live ones in order of addresses; `follower` is asked again which of them still
/// live when the heap has been walked.
void add_waste(const ProcessFiles& files, std::span<const Mapping> mappings, Pagemap& pagemap,
               std::span<const LiveSample> samples, TraceFollower& follower,
               profile::Snapshot& snapshot);

}  // namespace geiger::observe
