// Sends what waits in a spool, the oldest first, as long as the sink takes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "fleet/push/sinks.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

// How long to wait between attempts.

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

class Sender {
 public:
  using Clock = std::chrono::steady_clock;

  Sender(Spool& spool, Sink& sink, Spool::Log log, std::uint64_t seed)
      : spool_(spool), sink_(sink), log_(std::move(log)), backoff_(seed) {}

  /// Sends until nothing waits, an attempt fails, or `stops`. Nothing is sent before the time that
  /// a failed attempt put off. Whether nothing waits.
  bool send(Clock::time_point now, const std::function<bool()>& stops);
  /// When to try again; nothing unless the latest attempt failed.
  [[nodiscard]] std::optional<Clock::time_point> put_off_to() const { return put_off_to_; }
  /// How far the host's clock is ahead of the sink's, in milliseconds, as of the latest answer.
  [[nodiscard]] std::optional<std::int64_t> skew_ms() const { return skew_ms_; }
  /// Asks for it.
  void ask_time();

 private:
  void note_time(const std::optional<std::int64_t>& sink_time);

  Spool& spool_;
  Sink& sink_;
  Spool::Log log_;
  Backoff backoff_;
  std::optional<Clock::time_point> put_off_to_;
  std::optional<std::int64_t> skew_ms_;
};

}  // namespace geiger::fleet
