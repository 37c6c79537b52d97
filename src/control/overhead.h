// `--budget`: how much recording may cost, and the interval that keeps to it.
//
// Proof that estimates stay unbiased: docs/estimators.md, "An interval that follows a budget".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/outcome.h"
#include "base/units.h"
#include "control/trace_tally.h"
#include "trace/share.h"

namespace geiger::control {

/// The cost that recording may have for a process; one of the two is not 0.
struct Budget {
  double share = 0;               ///< Of its processor time, in (0, 1).
  double samples_per_second = 0;  ///< Of the clock on the wall.
};

/// "0.5%" or "2000/s".
[[nodiscard]] base::Outcome<Budget> parse_overhead(std::string_view text);

/// Processor time that the records of a trace have cost its process: nominal figures, on the
/// high side, for samples, their frees, stacks that were new, and mappings.
[[nodiscard]] Nanoseconds cost_of(const RecordCounts& records);

/// Chooses the sampling interval of one process from what was spent so far, and from nothing
/// else: neither from what is about to be drawn nor from what objects there are.
///
///   a period ends      after a second, or as soon as twice what it allows is spent
///   over the limit     the interval doubles as often as would have kept it
///   under a quarter    of the limit in kCalmPeriods in a row: the interval halves
///   in debt            (more was spent than allowed since the start, within the last
///                      kMemory) the limit is half of what is allowed
///
/// Threads: one.
class IntervalGovernor {
 public:
  static constexpr Nanoseconds kPeriod = 1'000'000'000;
  /// A period is not cut shorter than this, nor for fewer samples than these.
  static constexpr Nanoseconds kLeastPeriod = 50'000'000;
  static constexpr std::uint64_t kLeastSamples = 8;
  static constexpr int kCalmPeriods = 3;
  /// Periods whose allowance can be owed at most: a debt is forgotten beyond.
  static constexpr double kMemory = 60;

  /// `least`: the interval that is wanted where the budget allows it.
  explicit IntervalGovernor(Bytes least) : least_(least), interval_(least) {}

  /// Accounts for the cost that was spent and allowed since the last call, in any one unit;
  /// `samples` since then. Returns the interval to draw with from now on.
  Bytes account(Nanoseconds elapsed, double spent, double allowed, std::uint64_t samples);

  /// The interval was raised to this elsewhere; a smaller one changes nothing.
  void raise_to(Bytes interval) {
    interval_ = std::clamp(interval, interval_, trace::kMostInterval);
  }

  [[nodiscard]] Bytes interval() const { return interval_; }

 private:
  void end_period();

  Bytes least_;
  Bytes interval_;
  Nanoseconds elapsed_ = 0;
  double spent_ = 0;
  double allowed_ = 0;
  double debt_ = 0;
  std::uint64_t samples_ = 0;
  int calm_ = 0;
};

}  // namespace geiger::control
