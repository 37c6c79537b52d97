// Totals of a process that are known exactly, to compare with estimates; also where the interval
// changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "estimation/calibration.h"
#include "estimation/counts.h"
#include "estimation/sums.h"

namespace geiger::profile {

// Totals of a process that are known exactly, to compare with estimates: a check of the profiler on
// itself.

/// Totals of one process, or of all. Requested bytes throughout.
struct ProcessTotals {
  Bytes exact_bytes = 0;  ///< Allocated, settled: exact up to the unsettled rest.
  Bytes certain_bytes = 0;
  std::uint64_t certain_count = 0;
  Bytes trials = 0;  ///< Bytes tried; without tails and certain objects.
  std::uint64_t hits = 0;
  Bytes tail_bytes = 0;
  std::uint64_t threads = 0;
  /// Ended without settling, or alive when the program was killed.
  std::uint64_t unsettled_threads = 0;
  Bytes unsettled_bound = 0;   ///< At most this many bytes more than exact_bytes.
  double estimated_bytes = 0;  ///< Horvitz-Thompson, certain ones included.
  double estimated_variance = 0;
  /// The part of trials and hits that z rests on: threads that settled for good,
  /// and others with at least 400 hits. A thread that was cut off lacks the trials
  /// since its last slow path, on average less than one interval, so its hits seem
  /// too many by less than one: 1 / sqrt(400) = 0.05 standard errors of its own.
  Bytes conclusive_trials = 0;
  std::uint64_t conclusive_hits = 0;
  /// How far the hits lie from what the trials let expect, in standard errors:
  /// sum(hits - trials p) / sqrt(sum(trials p q)). 0 when nothing was tried
  /// conclusively or every byte was a hit (T = 1).
  double z = 0;
};

/// The totals of one process; its trials are taken at its interval (where others were
/// in force too, z is that of weighted hits: `has_several_intervals`).
[[nodiscard]] ProcessTotals process_totals(const Recording& recording, std::uint32_t process);

/// The totals of every process. A pass over all samples, and as long a one for z where several
/// intervals were in force.
[[nodiscard]] std::vector<ProcessTotals> totals_of_each(const Recording& recording);

/// All processes together; z combines their numerators and variances.
[[nodiscard]] ProcessTotals all_totals(const Recording& recording);
/// As above, of what totals_of_each() returned.
[[nodiscard]] ProcessTotals all_totals(const Recording& recording,
                                       std::span<const ProcessTotals> each);

/// Drops of all processes, by cause.
[[nodiscard]] vocabulary::Drops drops_of(const Recording& recording);

/// Samples of processes' own heaps, those that were only counted as well.
[[nodiscard]] std::uint64_t recorded_samples(const Recording& recording);

/// The samples of one process: Recording keeps them in order of processes.
[[nodiscard]] std::span<const Sample> samples_of(const Recording& recording, std::uint32_t process);

/// 1/lambda of the sparsest sampling that was in force; 0 without epochs and at T = 1.
[[nodiscard]] double largest_interval(const Recording& recording);

/// One sample as an estimate counts it, by requested bytes.
[[nodiscard]] estimation::Count count_of(const Recording& recording, const Sample& sample);

/// Sums of all samples whose allocation was recorded in one process, by requested bytes. E is what
/// the samples imply.
[[nodiscard]] estimation::NodeSums allocated_sums(const Recording& recording,
                                                  std::uint32_t process);

/// The bytes that all processes allocated, where they are known to the byte and every
/// sample among them was recorded: all threads settled, all images ended by themselves,
/// no record dropped, no segment missing, nothing damaged. Estimates of parts can then be
/// calibrated to it.
[[nodiscard]] std::optional<Bytes> exactly_allocated(const Recording& recording);

/// As above, but of windows that were summed up at most 1 % of the total may be open: what threads
/// of processes that still run allocated since they were last counted.
[[nodiscard]] std::optional<estimation::KnownTotal> known_allocated(const Recording& recording);

/// An upper limit of the bytes that all processes allocated in the recording: what was counted,
/// with what threads had not settled. Nothing where a part was not counted, or less than was seen.
[[nodiscard]] std::optional<Bytes> most_allocated(const Recording& recording);

/// The size from which every allocation was recorded, in bytes: the largest interval;
/// infinite where some process recorded nothing with certainty.
[[nodiscard]] double always_recorded_from(const Recording& recording);

/// CLOCK_MONOTONIC of the first start of a process; 0 without processes.
[[nodiscard]] Nanoseconds start_of(const Recording& recording);

/// From the first start to the last end; 0 without processes.
[[nodiscard]] Nanoseconds duration_of(const Recording& recording);

/// Of each process. Of one that executed another program it ends when that began to be recorded; of
/// one that was killed it is what was last read from outside.
[[nodiscard]] std::vector<ProcessorTime> processor_times(const Recording& recording);
/// Of all together.
[[nodiscard]] ProcessorTime processor_time_of(const Recording& recording);

/// Whether the recording has intervals beside the first one of the process.
[[nodiscard]] bool has_several_intervals(const Recording& recording, std::uint32_t process);

// Hits against trials where the interval changed while recording: which trials were at which
// interval is not known, but every hit names its own.
//
// A trial that succeeds with probability 1/T counts T if it does, so the counts of the hits add
// up to the trials, on average and whatever made the interval change (docs/internals/estimators.md,
// "An interval that follows a budget"). They are the weights of objects of one byte.

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
