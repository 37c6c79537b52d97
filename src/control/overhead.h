// `--budget`: how much a recording may cost, and the interval that keeps to it.
//
// Proof that estimates stay unbiased: docs/internals/estimators.md, "An interval that follows a
// budget".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/outcome.h"
#include "base/units.h"
#include "control/trace_tally.h"
#include "trace/share.h"

namespace geiger::control {

/// What recording one process may cost; one of the two is not 0.
struct Budget {
  double share = 0;               ///< Share of its processor time, in (0, 1).
  double samples_per_second = 0;  ///< In wall-clock time.
};

/// "0.5%" or "2000/s".
[[nodiscard]] base::Outcome<Budget> parse_overhead(std::string_view text);

/// Processor time that the records of a trace cost its process: nominal figures, on the high side,
/// for samples, their frees, new stacks, and mappings.
[[nodiscard]] Nanoseconds cost_of(const RecordCounts& records);

/// Chooses the sampling interval of one process from the cost so far and nothing else: not from the
/// samples to come, nor from the objects that exist.
///
///   a period ends      after a second, or as soon as twice what it allows is spent
///   over the limit     the interval doubles as often as would have kept to it
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
  /// The largest debt, in allowances of periods: a larger one is cut to this.
  static constexpr double kMemory = 60;

  /// `least`: the smallest interval, used if the budget allows it.
  explicit IntervalGovernor(Bytes least) : least_(least), interval_(least) {}

  /// Accounts for the cost spent and allowed since the last call, both in one unit, and the
  /// `samples` since then. Returns the interval to sample with from now on.
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
