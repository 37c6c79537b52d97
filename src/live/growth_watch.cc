#include "live/growth_watch.h"

#include <utility>

namespace geiger::live {
namespace {

/// So many instants are kept of the recent time: each becomes the recent one in its turn.
constexpr Nanoseconds kSteps = 4;

}  // namespace

void GrowthWatch::look(const follow::Follower& follower, Nanoseconds now) {
  now_ = now;
  const bool begins = instants_.empty() || !follower.can_compare(instants_.front().baseline);
  if (begins) {
    instants_.clear();
    looks_ = 0;
  } else {
    ++looks_;
  }
  if (begins || now - instants_.back().time >= recent_ / kSteps) {
    instants_.push_back({now, follower.baseline()});
  }
  while (instants_.size() > 2 && now - instants_[2].time >= recent_) {
    instants_.erase(instants_.begin() + 1);
  }
}

std::optional<report::LiveChange> GrowthWatch::change(const follow::Follower& follower,
                                                      const Instant& from) const {
  if (!follower.can_compare(from.baseline) || now_ <= from.time) return std::nullopt;
  follow::Change change = follower.change_since(from.baseline);
  return report::LiveChange{now_ - from.time, looks_, std::move(change.came),
                            std::move(change.went)};
}

std::optional<report::LiveChanges> GrowthWatch::changes(const follow::Follower& follower) const {
  if (instants_.empty()) return std::nullopt;
  auto start = change(follower, instants_.front());
  if (!start) return std::nullopt;
  report::LiveChanges changes{std::move(*start), std::nullopt};
  const bool has_recent = instants_.size() > 1 && now_ - instants_[1].time >= recent_;
  if (has_recent) changes.recent = change(follower, instants_[1]);
  return changes;
}

}  // namespace geiger::live
