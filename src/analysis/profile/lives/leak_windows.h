// Time as the search for leaks divides it: a warm-up, then windows of uneven lengths.
//
// The windows are uneven so that no period of the program is a multiple of all of them: of
// a sawtooth as long as even windows, each would see the same small piece more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/profile/recording.h"
#include "estimation/growth.h"

namespace geiger::profile {

inline constexpr std::size_t kLeakWindows = 12;

/// The time in which a process's allocations were recorded: from its first sample to its
/// last, or to an instant up to which it is known to have run.
struct ActiveTime {
  Nanoseconds from = 0, to = 0;
};

/// By process; {0, 0} without samples. `ran_until`: by process; empty, or 0: not known.
[[nodiscard]] std::vector<ActiveTime> active_times(const Recording& recording,
                                                   std::span<const Nanoseconds> ran_until);

using LeakChanges = std::array<estimation::Change, kLeakWindows>;

/// Whether the last third of the windows grew at least half as fast as the first.
[[nodiscard]] bool is_lasting(const LeakChanges& changes);

class LeakWindows {
 public:
  /// `warm_up` in [0, 1).
  explicit LeakWindows(double warm_up);

  /// Where an instant lies in its process's time, 0 to 1; what comes later counts as 1.
  [[nodiscard]] static double place(Nanoseconds time, const ActiveTime& active);

  [[nodiscard]] bool is_warm_up(double place) const { return place < bounds_.front(); }
  /// The window of a place after the warm-up.
  [[nodiscard]] std::size_t window_of(double place) const;
  /// Share of all time.
  [[nodiscard]] double length_of(std::size_t window) const {
    return bounds_[window + 1] - bounds_[window];
  }
  /// CLOCK_MONOTONIC: where window `i` begins, or the one before it ends.
  [[nodiscard]] Nanoseconds bound_of(std::size_t i, const ActiveTime& active) const;

  /// Changes by window with the lengths of these windows.
  [[nodiscard]] LeakChanges with_lengths(const std::array<double, kLeakWindows>& changes) const;
  /// Whether the last third grew at least half as fast as the first.
  [[nodiscard]] bool is_lasting(const std::array<double, kLeakWindows>& changes) const;
  /// Whether this many arrivals by window show that it did not: with an error of 5 % for the last
  /// third arriving just half as fast as the first (binomial, exact).
  [[nodiscard]] bool is_slowing(const std::array<std::uint64_t, kLeakWindows>& arrivals) const;

 private:
  std::array<double, kLeakWindows + 1> bounds_{};
};

}  // namespace geiger::profile
