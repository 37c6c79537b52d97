// Whether the program wants samples (a token, a listener, a started recording), and how many: holds
// and resumes a recording in memory, and sets the smallest interval that the program or a token
// asks for.
//
//   in force = min(own, what tokens want),   held <=> in memory and no user
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "geiger/geiger.h"
#include "runtime/capture/program/interface.h"

namespace geiger::api {

/// The largest interval that anything still draws with: threads that have not met the one
/// in force yet may use an older one.
[[nodiscard]] std::uint64_t largest_interval_in_use();

class Demand {
 public:
  /// Adds a user of samples. Recording is on when this returns.
  void add_user();
  void remove_user();

  /// The interval is wanted as long as a token runs.
  [[nodiscard]] geiger_status want(std::uint64_t interval);
  void want_no_more(std::uint64_t interval);

  /// The program's own interval.
  [[nodiscard]] geiger_status set_own(std::uint64_t interval);
  [[nodiscard]] std::uint64_t own();

  /// The largest interval that anything recorded so far can have been drawn with. `in_force`:
  /// the largest that was in force.
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
  std::uint64_t set_ = 0;  ///< What was set last for tokens; anything else comes from outside.
  std::multiset<std::uint64_t> wanted_;
  std::uint32_t begun_in_ = 0;          ///< First segment of the process that recording began in.
  std::uint64_t largest_at_start_ = 0;  ///< In use there, though not in force.
};

}  // namespace geiger::api
