// The chunks of a process's heap in use over time, counted by size by walks from outside.
//
// For recordings that begin late: they do not have the objects that were there before, so what they
// see come and go does not show how the heap grew (profile/lives/late_growth.h).
#pragma once

#include <string>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/process_files.h"
#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

/// Walks at the start and then evenly spread, in bounded space: of more than kMostWalks every
/// second is dropped, and those that follow lie twice as far apart.
class ChunkWalks {
 public:
  [[nodiscard]] bool is_due(Nanoseconds now) const { return now >= next_; }
  /// Reads what is in memory, and only that. `follower` is up to date; it is asked again which
  /// samples live when the heap has been walked.
  void walk(const ProcessFiles& files, TraceFollower& follower, Nanoseconds now);
  void take(profile::Observations& into);

 private:
  static constexpr Nanoseconds kFirstStep = 100'000'000;

  std::vector<profile::ChunkCensus> walks_;
  std::string fault_;  ///< Of the latest walk; empty: it succeeded.
  Nanoseconds step_ = kFirstStep, next_ = 0;
};

}  // namespace geiger::observe
