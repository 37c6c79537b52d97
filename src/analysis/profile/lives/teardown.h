// Where a program ended its work and began to tidy up.
//
// A program that frees everything before it exits holds nothing at its end, whatever it leaked
// while it ran. So leaks are judged before the final frees: the end of a process's recording in
// which it freed at least half of its live heap and allocated next to nothing. Frees below
// exit(), where their stacks are recorded, show the same (docs/internals/estimators.md).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::profile {

struct Teardown {
  enum class Kind : std::uint8_t {
    kNotFound,   ///< The heap at the end is the one to judge.
    kBurst,      ///< The frees are the last twentieth of the time, or less.
    kExitFrees,  ///< The first free with exit() in its stack came before any burst.
    kSlow,       ///< The frees took longer: work that ran out, or tidying up.
  };
  Kind kind = Kind::kNotFound;
  Nanoseconds from = 0;  ///< CLOCK_MONOTONIC of the first of the frees; kNotFound: the end.
  Nanoseconds end = 0;   ///< Of the process's recording.
  double live = 0;       ///< Estimated bytes live just before `from`; kNotFound: at the end.
  double freed = 0;      ///< Of them, freed from then on.

  /// Whether the heap at `from` is more informative than the heap at the end.
  [[nodiscard]] bool is_found() const { return kind == Kind::kBurst || kind == Kind::kExitFrees; }
};

/// By process. Only processes that have ended can have one. `only`: looks at this process alone,
/// and leaves the others empty.
[[nodiscard]] std::vector<Teardown> find_teardowns(const Recording& recording,
                                                   std::uint32_t only = kNone);

/// The one of the process that held most; null if there is none.
[[nodiscard]] const Teardown* largest_of(const std::vector<Teardown>& teardowns);

}  // namespace geiger::profile
