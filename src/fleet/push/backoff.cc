#include "fleet/push/backoff.h"

#include <algorithm>

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

}  // namespace geiger::fleet
