// Time as the search for leaks divides it: a warm-up, windows, and where a program began to tidy
// up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "estimation/scatter.h"

namespace geiger::profile {

// Time as the search for leaks divides it: a warm-up, then windows of uneven lengths.
//
// The windows are uneven so that no period of the program is a multiple of all of them: of
// a sawtooth as long as even windows, each would see the same small piece more.

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

// Where a program ended its work and began to tidy up.
//
// A program that frees everything before it exits holds nothing at its end, whatever it leaked
// while it ran. So leaks are judged before the final frees: the end of a process's recording in
// which it freed at least half of its live heap and allocated next to nothing. Frees below
// exit(), where their stacks are recorded, show the same (docs/internals/estimators.md).

struct Teardown {
  enum class Kind : std::uint8_t {
    kNotFound,      ///< The heap at the end is the one to judge.
    kBurst,         ///< The frees are the last twentieth of the time, or less.
    kExitFrees,     ///< The first free with exit() in its stack came before any burst.
    kSlow,          ///< The frees took longer: work that ran out, or tidying up.
    kFinalization,  ///< Its interpreter began to finalize (end_at_finalization).
  };
  Kind kind = Kind::kNotFound;
  Nanoseconds from = 0;  ///< CLOCK_MONOTONIC of the first of the frees; kNotFound: the end.
  Nanoseconds end = 0;   ///< Of the process's recording.
  double live = 0;       ///< Estimated bytes live just before `from`; kNotFound: at the end.
  double freed = 0;      ///< Of them, freed from then on.

  /// Whether the heap at `from` is more informative than the heap at the end.
  [[nodiscard]] bool is_found() const {
    return kind == Kind::kBurst || kind == Kind::kExitFrees || kind == Kind::kFinalization;
  }
};

/// Ends processes, as far as live objects are concerned, at the instant at which their interpreter
/// began to finalize: what is freed from then on counts as live at the end, and the fates of
/// objects that are allocated from then on as unknown. Only where finalizing was the last thing
/// that a process did: else its end, which may be much later, is what its memory must be judged by.
void end_at_finalization(Recording& recording);

/// By process. Only processes that have ended can have one. `only`: looks at this process alone,
/// and leaves the others empty.
[[nodiscard]] std::vector<Teardown> find_teardowns(const Recording& recording,
                                                   std::uint32_t only = kNone);

/// The one of the process that held most; null if there is none.
[[nodiscard]] const Teardown* largest_of(const std::vector<Teardown>& teardowns);

/// An instant after every end: a process is judged at its own.
inline constexpr Nanoseconds kItsEnd = std::numeric_limits<Nanoseconds>::max();

/// By process, CLOCK_MONOTONIC: when the final frees began; kItsEnd: it had none, and is judged at
/// its end.
[[nodiscard]] std::vector<Nanoseconds> judged_before(std::span<const Teardown> teardowns);

/// LeakOptions::ran_until of processes that are judged then: a pause before counts where final
/// frees follow it, and where it is the longer part of the process's life. Else what allocates
/// under load would be found only as long as the load lasts.
[[nodiscard]] std::vector<Nanoseconds> ran_until(const Recording& recording,
                                                 std::span<const Nanoseconds> judged);

}  // namespace geiger::profile
