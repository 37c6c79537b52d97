#include "fleet/turns/schedule.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "fleet/document/ids.h"
#include "query/sizes.h"

namespace geiger::fleet {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLongestPeriod = std::int64_t{7} * 86'400;

/// 64 bits that differ between hosts, periods, salts and questions.
std::uint64_t draw(const Schedule& schedule, std::string_view host, std::int64_t period,
                   std::string_view question) {
  return hash_of(
      fmt::format("{}{}{}{}{}{}{}", schedule.salt, '\0', host, '\0', period, '\0', question));
}

/// In [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

base::Outcome<Schedule> parse_schedule(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto seconds = [](std::string_view part) -> std::int64_t {
    const auto time = query::parse_duration(part);
    return time.has_value() ? static_cast<std::int64_t>(time.value()) / kSecond : 0;
  };
  Schedule schedule;
  if (slash != std::string_view::npos) {
    schedule.length = seconds(text.substr(0, slash));
    schedule.period = seconds(text.substr(slash + 1));
  }
  const bool is_sound = schedule.length > 0 && schedule.length <= schedule.period &&
                        schedule.period <= kLongestPeriod;
  if (is_sound) return schedule;
  return base::Failure{
      fmt::format("invalid schedule '{}' (example: 2m/1h, two minutes of every hour)", text)};
}

base::Outcome<double> parse_host_share(std::string_view text) {
  constexpr double kPercent = 100;
  const auto percent =
      text.ends_with('%') ? base::number_in<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (percent && *percent > 0 && *percent <= kPercent) return *percent / kPercent;
  return base::Failure{fmt::format("invalid share '{}' (example: 5%)", text)};
}

std::optional<Turn> turn_in_period(const Schedule& schedule, std::string_view host,
                                   std::int64_t second) {
  const std::int64_t period = second / schedule.period;
  if (unit(draw(schedule, host, period, "whether")) >= schedule.share) return std::nullopt;
  const std::int64_t beginnings = schedule.period - schedule.length + 1;
  const auto offset = static_cast<std::int64_t>(draw(schedule, host, period, "when") %
                                                static_cast<std::uint64_t>(beginnings));
  const std::int64_t begin = period * schedule.period + offset;
  return Turn{begin, begin + schedule.length};
}

}  // namespace geiger::fleet
