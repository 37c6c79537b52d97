// The instants that `geiger live` measures growth from: the start of watching, and one that stays
// about as long ago.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "analysis/follow/follower.h"
#include "analysis/report/profiles/live.h"
#include "base/units.h"

namespace geiger::live {

class GrowthWatch {
 public:
  /// `recent`: how long ago the recent instant is, or up to a quarter longer; above 0.
  explicit GrowthWatch(Nanoseconds recent) : recent_(recent) {}

  /// After each update of the traces: `now` is CLOCK_MONOTONIC.
  void look(const follow::Follower& follower, Nanoseconds now);
  /// The next update is the start.
  void restart() { instants_.clear(); }

  /// As of the latest update; nothing before the second one, or if growth is unknown.
  [[nodiscard]] std::optional<report::LiveChanges> changes(const follow::Follower& follower) const;

 private:
  struct Instant {
    Nanoseconds time = 0;
    follow::Baseline baseline;
  };

  [[nodiscard]] std::optional<report::LiveChange> change(const follow::Follower& follower,
                                                         const Instant& from) const;

  Nanoseconds recent_;
  Nanoseconds now_ = 0;
  std::uint64_t looks_ = 0;       ///< Since the start.
  std::deque<Instant> instants_;  ///< The start; then the recent one and those that follow it.
};

}  // namespace geiger::live
