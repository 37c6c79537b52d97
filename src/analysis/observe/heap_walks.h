// Walks over a process's heap from outside: the free bytes that live samples answer for, and chunks
// in use by size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "analysis/profile/recording/observations.h"

namespace geiger::observe {

// The free bytes that live samples answer for, of one process at one instant.

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

// The chunks of a process's heap in use over time, counted by size by walks from outside.
//
// For recordings that begin late: they do not have the objects that were there before, so what they
// see come and go does not show how the heap grew (profile/lives/late_growth.h).

/// Walks at the start and then evenly spread, in bounded space: of more than kMostWalks every
/// second is dropped, and those that follow lie twice as far apart.
class ChunkWalks {
 public:
  [[nodiscard]] bool is_due(Nanoseconds now) const { return now >= next_; }
  /// Reads what is in memory, and only that. `follower` is up to date; it is asked again which
  /// samples live when the heap has been walked.
  void walk(const ProcessFiles& files, TraceFollower& follower, Nanoseconds now);
  void take(profile::Observations& into);
  /// Whether the latest walk succeeded.
  [[nodiscard]] bool has_counted() const { return !walks_.empty() && fault_.empty(); }

 private:
  static constexpr Nanoseconds kFirstStep = 100'000'000;

  std::vector<profile::ChunkCensus> walks_;
  std::string fault_;  ///< Of the latest walk; empty: it succeeded.
  Nanoseconds step_ = kFirstStep, next_ = 0;
};

}  // namespace geiger::observe
