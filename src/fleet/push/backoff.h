// How long to wait between attempts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

namespace geiger::fleet {

/// Full jitter: any time up to a limit, which doubles with each attempt that failed from 1 s to
/// 10 min. Many hosts that lost a store at once so come back evenly.
class Backoff {
 public:
  explicit Backoff(std::uint64_t seed) : random_(seed) {}

  /// After an attempt that failed; at least as long as the sink asks for.
  [[nodiscard]] std::chrono::milliseconds next(
      std::optional<std::chrono::seconds> retry_after = std::nullopt);
  /// After one that did not.
  void reset() { failures_ = 0; }

 private:
  std::mt19937_64 random_;
  unsigned failures_ = 0;
};

}  // namespace geiger::fleet
