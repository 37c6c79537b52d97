// Codes for the steps of stacks from callers to callees. Most steps repeat one of the last few from
// the same caller, so that small numbers say which.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace geiger::fleet {

/// What follows each place; writer and reader add the same steps in the same order.
class Followers {
 public:
  /// A location's number plus 1, or what surrounds all stacks.
  using Place = std::uint32_t;
  static constexpr Place kRoot = 0;  ///< As a caller.
  static constexpr Place kEnd = 0;   ///< As a follower.

  explicit Followers(std::size_t locations) : of_(locations + 1) {}

  /// Adds a step. Its code: 1 for the latest from this caller, 2 for the one before, ...; 0 for a
  /// step that is not remembered.
  [[nodiscard]] std::uint64_t code_of(Place caller, Place next) {
    std::vector<Place>& latest = of_[caller];
    const auto at = std::ranges::find(latest, next);
    if (at == latest.end()) {
      add(caller, next);
      return 0;
    }
    const auto code = static_cast<std::uint64_t>(at - latest.begin()) + 1;
    std::rotate(latest.begin(), at, at + 1);
    return code;
  }

  /// Adds the step with this code, which is not 0. Nothing if no step has it.
  [[nodiscard]] std::optional<Place> follow(Place caller, std::uint64_t code) {
    std::vector<Place>& latest = of_[caller];
    if (code > latest.size()) return std::nullopt;
    const auto at = latest.begin() + static_cast<std::ptrdiff_t>(code - 1);
    std::rotate(latest.begin(), at, at + 1);
    return latest.front();
  }

  /// Adds a step whose code is 0.
  void add(Place caller, Place next) {
    std::vector<Place>& latest = of_[caller];
    if (latest.size() == kMost) latest.pop_back();
    latest.insert(latest.begin(), next);
  }

 private:
  /// Bounds the time that a step takes.
  static constexpr std::size_t kMost = 16;

  std::vector<std::vector<Place>> of_;  ///< By caller, the latest first.
};

}  // namespace geiger::fleet
