#include "control/overhead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/numbers.h"

namespace geiger::control {
namespace {

/// The whole text as a positive finite number.
std::optional<double> positive(std::string_view text) {
  const auto value = base::number_in<double>(text);
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

// A sampled malloc and its free take 1,531 instructions, a third of them in the walk
// (docs/internals/life.md), at one instruction per nanosecond: caches are cold in the slow path.
// A new stack is hashed, written and entered into a table.
constexpr Nanoseconds kSampleCost = 1200;
constexpr Nanoseconds kFreeCost = 400;
constexpr Nanoseconds kStackCost = 1500;
constexpr Nanoseconds kMappingCost = 1200;

}  // namespace

base::Outcome<Budget> parse_overhead(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return base::Failure{fmt::format("'{}' {}", text, why)};
  };
  std::string_view rest = text;
  if (rest.ends_with("/s")) {
    rest.remove_suffix(2);
    const auto rate = positive(rest);
    if (!rate) return fail("is not a rate above 0 (example: 2000/s)");
    return Budget{.samples_per_second = *rate};
  }
  if (!rest.ends_with('%')) return fail("is not a share or a rate (examples: 0.5%, 2000/s)");
  rest.remove_suffix(1);
  if (rest.ends_with(' ')) rest.remove_suffix(1);
  const auto share = positive(rest);
  if (!share || *share >= 100) return fail("is not between 0% and 100%");
  return Budget{.share = *share / 100};
}

Nanoseconds cost_of(const RecordCounts& records) {
  return records.samples * kSampleCost + records.frees * kFreeCost + records.stacks * kStackCost +
         records.mappings * kMappingCost;
}

Bytes IntervalGovernor::account(Nanoseconds elapsed, double spent, double allowed,
                                std::uint64_t samples) {
  elapsed_ += elapsed;
  spent_ += spent;
  allowed_ += allowed;
  samples_ += samples;
  const bool is_overdrawn =
      elapsed_ >= kLeastPeriod && samples_ >= kLeastSamples && spent_ > 2 * allowed_;
  if (elapsed_ >= kPeriod || is_overdrawn) end_period();
  return interval_;
}

void IntervalGovernor::end_period() {
  const double limit = debt_ > 0 ? allowed_ / 2 : allowed_;
  // A program that used no processor time had no allowance, and can have spent little.
  const double load = limit > 0 ? spent_ / limit : (samples_ >= kLeastSamples ? 2 : 0);
  calm_ = load < 0.25 ? calm_ + 1 : 0;
  if (load > 1) {
    const double doublings = std::min(std::ceil(std::log2(load)), 40.0);
    const double wanted = std::ldexp(static_cast<double>(interval_), static_cast<int>(doublings));
    interval_ = static_cast<Bytes>(std::min(wanted, static_cast<double>(trace::kMostInterval)));
  } else if (calm_ >= kCalmPeriods && interval_ > least_) {
    interval_ = std::max(interval_ / 2, least_);
    calm_ = 0;
  }
  const double second = allowed_ * (static_cast<double>(kPeriod) /
                                    static_cast<double>(std::max<Nanoseconds>(elapsed_, 1)));
  debt_ = std::clamp(debt_ + spent_ - allowed_, 0.0, kMemory * second);
  elapsed_ = 0;
  spent_ = allowed_ = 0;
  samples_ = 0;
}

}  // namespace geiger::control
