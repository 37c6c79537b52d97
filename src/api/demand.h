// Tracks whether the program wants samples (a token, a listener, a started recording), and at which
// interval: holds and resumes a recording in memory, and sets the smallest interval that the
// program or a token requests.
//
//   in force = min(own, what tokens want),   held <=> in memory and no user
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "geiger/geiger.h"
#include "runtime/capture/program/interface.h"

namespace geiger::api {

/// The largest interval still in use: threads that have not adopted the one in force may use an
/// older one.
[[nodiscard]] std::uint64_t largest_interval_in_use();

class Demand {
 public:
  /// Adds a user of samples. Recording is on when this returns.
  void add_user();
  void remove_user();

  /// Requests the interval, for as long as a token runs.
  [[nodiscard]] geiger_status want(std::uint64_t interval);
  void want_no_more(std::uint64_t interval);

  /// The program's own interval.
  [[nodiscard]] geiger_status set_own(std::uint64_t interval);
  [[nodiscard]] std::uint64_t own();

  /// The largest interval with which recorded samples can have been drawn. `in_force`: the largest
  /// that was in force.
  [[nodiscard]] std::uint64_t largest_interval(std::uint64_t in_force) const {
    return std::max(in_force, largest_at_start_);
  }

  /// A fork's child starts with the program's own interval and these users.
  void restart(std::uint32_t users);

 private:
  void hold(bool is_held) const;
  void begin(const capture::Status& status);
  std::uint64_t observe();
  geiger_status apply();

  std::uint32_t users_ = 0;
  bool is_in_memory_ = false;
  std::uint64_t own_ = 0;
  std::uint64_t set_ = 0;  ///< The last interval set for tokens; any other comes from outside.
  std::multiset<std::uint64_t> wanted_;
  std::uint32_t begun_in_ = 0;          ///< First segment of the process in which recording began.
  std::uint64_t largest_at_start_ = 0;  ///< In use at that time, though not in force.
};

}  // namespace geiger::api
