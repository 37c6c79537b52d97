// Hits against trials where the interval changed while recording: which trials were at which
// interval is not known, but every hit names its own.
//
// A trial that succeeds with probability 1/T counts T if it does, so the counts of the hits add
// up to the trials, on average and whatever made the interval change (docs/internals/estimators.md,
// "An interval that follows a budget"). They are the weights of objects of one byte.
#pragma once

#include "analysis/profile/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// Whether the self-check rests on a thread: it settled for good, or has many hits.
[[nodiscard]] bool is_conclusive(const Thread& thread);

struct WeightedHits {
  estimation::NodeSums sums;    ///< One byte for each hit of a conclusive thread.
  std::uint64_t hits = 0;       ///< In these sums.
  std::uint64_t counted = 0;    ///< Of these threads, as the runtime counted them.
  std::uint64_t in_flight = 0;  ///< Threads cut off: each may lack the sample of its last hit.
  Bytes trials = 0;

  void merge(const WeightedHits& other);

  /// Whether every hit that was counted has its sample here.
  [[nodiscard]] bool is_whole() const { return hits <= counted && counted - hits <= in_flight; }
  /// Standard errors between the counts and the trials; 0 without any hit.
  [[nodiscard]] double z() const;
  /// Of the least interval around the counts that reaches the trials: 1 minus its level.
  [[nodiscard]] double p_value() const;
  /// Hits to expect: as many less or more as the trials are than the counts.
  [[nodiscard]] double expected() const;
};

[[nodiscard]] WeightedHits weighted_hits(const Recording& recording, std::uint32_t process);
[[nodiscard]] WeightedHits all_weighted_hits(const Recording& recording);

/// Whether the recording has intervals beside the first one of any process.
[[nodiscard]] bool has_several_intervals(const Recording& recording);

}  // namespace geiger::profile
