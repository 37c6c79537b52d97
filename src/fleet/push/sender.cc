#include "fleet/push/sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/clock.h"

namespace geiger::fleet {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstLimit = std::chrono::seconds(1);
constexpr milliseconds kLastLimit = std::chrono::minutes(10);
/// What a sink may ask for.
constexpr milliseconds kLongestRequest = std::chrono::hours(1);
constexpr unsigned kDoublings = 10;  // 1 s to beyond 10 min.

}  // namespace

milliseconds Backoff::next(std::optional<std::chrono::seconds> retry_after) {
  const milliseconds limit =
      std::min(kFirstLimit * (1 << std::min(failures_, kDoublings)), kLastLimit);
  ++failures_;
  const milliseconds jitter(std::uniform_int_distribution<std::int64_t>(0, limit.count())(random_));
  if (!retry_after) return jitter;
  return std::min<milliseconds>(*retry_after, kLongestRequest) + jitter;
}

void Sender::note_time(const std::optional<std::int64_t>& sink_time) {
  if (!sink_time) return;
  constexpr std::int64_t kPerMilli = 1'000'000, kMillis = 1000;
  const auto here = static_cast<std::int64_t>(base::realtime_now()) / kPerMilli;
  // The sink reports whole seconds: on average it is half of one later.
  skew_ms_ = here - (*sink_time * kMillis + kMillis / 2);
}

void Sender::ask_time() { note_time(sink_.time()); }

bool Sender::send(Clock::time_point now, const std::function<bool()>& stops) {
  if (put_off_to_ && now < *put_off_to_) return spool_.waiting() == 0;
  put_off_to_.reset();
  std::string name;
  std::size_t taken = 0, known = 0;
  const auto tell = [&] {
    if (taken == 0) return;
    log_(fmt::format("{} document{} sent{}", taken, taken == 1 ? "" : "s",
                     known == 0 ? "" : fmt::format(", {} of them already there", known)));
  };
  while (const auto next = spool_.next(name)) {
    if (stops()) break;
    name = *next;
    const auto packed = spool_.read(name);
    const Delivery delivery =
        packed.has_value() ? sink_.send(packed.value())
                           : Delivery{Delivery::What::kRefused, packed.reason(), {}, {}};
    note_time(delivery.sink_time);
    if (delivery.what == Delivery::What::kLater) {
      const auto wait = backoff_.next(delivery.retry_after);
      put_off_to_ = now + wait;
      tell();
      log_(fmt::format("not sent: {}; next attempt in {} s, {} waiting", delivery.why,
                       (wait.count() + 999) / 1000, spool_.waiting()));
      return false;
    }
    backoff_.reset();
    if (delivery.is_taken()) {
      if (!delivery.why.empty()) log_(fmt::format("sent: {}", delivery.why));
      ++taken;
      known += delivery.is_known ? 1 : 0;
      spool_.remove(name);
    } else if (const auto refused = spool_.refuse(name, delivery.why); !refused.has_value()) {
      log_(refused.reason());  // It stays, and is offered again.
    }
  }
  tell();
  return spool_.waiting() == 0;
}

}  // namespace geiger::fleet
