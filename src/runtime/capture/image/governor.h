// Regulates the interval (GEIGER_INTERVAL=auto): starts fine and keeps the cost of records below a
// share of the process's processor time.
//
//   spend           every sample adds the time that it took, as measured, other records a
//                   nominal cost
//   is_due          after each sample: every kStretch of cost, or kPeriod of time
//   balance         what was spent since the last time, against what the time used allows; the
//                   interval that the program needs to keep to the share, over the last
//                   kMemory or so of processor time, and the next interval:
//
//     in debt       at least the needed one, at most kMostRaise times the last
//     in credit     half the last one, if that is at least the needed one
//     (in debt too, if that is at least twice the needed one)
//
// A young process may spend kYoungTimes more, up to kYoungCredit. Allowed but unspent time is saved
// for bursts, up to kMostSaved.
//
// The rule depends only on records written and processor time used, not on future draws or
// allocations. Proof that estimates stay unbiased: docs/internals/estimators.md, "An interval that
// follows a budget".
//
// Threads / Signals: lock-free. Two threads that balance at once only regulate slightly less
// exactly.
// Allocates: never.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace geiger::capture {

class Governor {
 public:
  /// The finest interval. In a long recording it doubles as the time spent doubles beyond kFineFor,
  /// which bounds the trace's size.
  static constexpr Bytes kFinest = 8 * kKiB;
  static constexpr Nanoseconds kFineFor = 1'000'000'000;
  /// The coarsest interval for the usual share and larger ones; proportionally coarser for smaller
  /// shares. If even that costs too much, the share is exceeded.
  static constexpr Bytes kCoarsest = 512 * kKiB;
  static constexpr Nanoseconds kStretch = 30'000;
  static constexpr Nanoseconds kPeriod = 20'000'000;
  /// Added to a stretch for each thread, as the kernel sums their times one by one.
  static constexpr Nanoseconds kStretchPerThread = 1'000;
  static constexpr std::uint32_t kMostThreads = 1'000;
  static constexpr double kMemory = 30'000'000;
  static constexpr double kYoungTimes = 4;
  static constexpr double kYoungCredit = 250'000;
  static constexpr double kMostSaved = 1'000'000;
  static constexpr Bytes kMostRaise = 4;

  /// Cost of a sample besides the measured part: before and after it, and in the program, whose
  /// caches it filled. By paired runs at 32 KiB and without samples: measurements.md. And the most
  /// that is counted for a thread that was interrupted meanwhile.
  static constexpr Nanoseconds kAroundSample = 700;
  static constexpr Nanoseconds kMostSampleCost = 20'000;
  static constexpr Nanoseconds kFreeCost = 200;
  static constexpr Nanoseconds kMappingCost = 1'000;
  static constexpr Nanoseconds kGuardCost = 5'000;  ///< Of placing, and again of ending.

  /// Resets and starts. 0: the interval is not regulated.
  void start(std::uint64_t share_per_million);
  /// Stops regulating the interval.
  void stop() { share_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_on() const { return share_.load(std::memory_order_relaxed) != 0; }

  void spend(Nanoseconds cost) {
    if (is_on()) spent_.fetch_add(cost, std::memory_order_relaxed);
  }

  void spend_on_sample(Nanoseconds measured) {
    spend(std::min(measured, kMostSampleCost) + kAroundSample);
  }

  /// Whether to balance now: true for only one of the threads that ask.
  [[nodiscard]] bool is_due(Nanoseconds now, std::uint32_t threads);
  /// The next interval, given the one in force and the processor time used so far.
  [[nodiscard]] Bytes balance(Bytes interval, Nanoseconds used);

 private:
  double save(double spent, double passed);
  [[nodiscard]] Bytes coarsest() const;
  double needed_interval(double spent, double passed, Bytes interval);

  std::atomic<std::uint64_t> share_;
  std::atomic<Nanoseconds> spent_;
  std::atomic<Nanoseconds> due_at_spent_;
  std::atomic<Nanoseconds> due_at_time_;
  std::atomic<Nanoseconds> balanced_spent_;
  std::atomic<Nanoseconds> balanced_used_;
  std::atomic<double> saved_;         ///< Negative: overspent.
  std::atomic<double> young_credit_;  ///< Given so far.
  std::atomic<double> demand_;        ///< Cost times interval, of the last kMemory.
  std::atomic<double> demanded_for_;  ///< Processor time of that.
};

}  // namespace geiger::capture
