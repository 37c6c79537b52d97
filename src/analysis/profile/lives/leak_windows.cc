#include "analysis/profile/lives/leak_windows.h"

#include <algorithm>

#include "estimation/distributions/binomial.h"

namespace geiger::profile {
namespace {

constexpr std::size_t kThird = kLeakWindows / 3;
/// Of the first third's speed: what the last third keeps of it to be lasting.
constexpr double kLasting = 0.5;
constexpr double kSlowingError = 0.05;

}  // namespace

std::vector<ActiveTime> active_times(const Recording& recording,
                                     std::span<const Nanoseconds> ran_until) {
  std::vector<ActiveTime> times(recording.processes.size());
  for (const Sample& sample : recording.samples) {
    if (!is_allocation_seen(sample)) continue;
    ActiveTime& active = times[sample.process];
    active.from = active.from == 0 ? sample.time : std::min(active.from, sample.time);
    active.to = std::max(active.to, sample.time);
  }
  for (std::size_t i = 0; i < std::min(times.size(), ran_until.size()); ++i) {
    if (times[i].to != 0) times[i].to = std::max(times[i].to, ran_until[i]);
  }
  return times;
}

LeakWindows::LeakWindows(double warm_up) {
  // Lengths from 0.5 to 1.5 of the mean, by multiples of the golden section.
  std::array<double, kLeakWindows> lengths{};
  double sum = 0;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    const double turns = 0.6180339887498949 * static_cast<double>(i + 1);
    lengths[i] = 0.5 + (turns - std::floor(turns));
    sum += lengths[i];
  }
  bounds_.front() = warm_up;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    bounds_[i + 1] = bounds_[i] + (1 - warm_up) * lengths[i] / sum;
  }
}

double LeakWindows::place(Nanoseconds time, const ActiveTime& active) {
  if (time <= active.from) return 0;
  if (time >= active.to) return 1;
  return static_cast<double>(time - active.from) / static_cast<double>(active.to - active.from);
}

std::size_t LeakWindows::window_of(double place) const {
  const auto next = std::upper_bound(bounds_.begin() + 1, bounds_.end() - 1, place);
  return static_cast<std::size_t>(next - bounds_.begin()) - 1;
}

Nanoseconds LeakWindows::bound_of(std::size_t i, const ActiveTime& active) const {
  const auto length = static_cast<double>(active.to - active.from);
  return active.from + static_cast<Nanoseconds>(bounds_[i] * length);
}

bool is_lasting(const LeakChanges& changes) {
  double first = 0, last = 0, first_length = 0, last_length = 0;
  for (std::size_t i = 0; i < kThird; ++i) {
    first += changes[i].value;
    first_length += changes[i].length;
    last += changes[kLeakWindows - 1 - i].value;
    last_length += changes[kLeakWindows - 1 - i].length;
  }
  return first_length > 0 && last > 0 && last * first_length >= kLasting * first * last_length;
}

LeakChanges LeakWindows::with_lengths(const std::array<double, kLeakWindows>& changes) const {
  LeakChanges with;
  for (std::size_t i = 0; i < kLeakWindows; ++i) with[i] = {length_of(i), changes[i]};
  return with;
}

bool LeakWindows::is_lasting(const std::array<double, kLeakWindows>& changes) const {
  return profile::is_lasting(with_lengths(changes));
}

bool LeakWindows::is_slowing(const std::array<std::uint64_t, kLeakWindows>& arrivals) const {
  std::uint64_t first = 0, last = 0;
  double first_length = 0, last_length = 0;
  for (std::size_t i = 0; i < kThird; ++i) {
    first += arrivals[i];
    first_length += length_of(i);
    last += arrivals[kLeakWindows - 1 - i];
    last_length += length_of(kLeakWindows - 1 - i);
  }
  const double half_speed = kLasting * last_length / (first_length + kLasting * last_length);
  return estimation::binomial_below(first + last, last, half_speed) <= kSlowingError;
}

}  // namespace geiger::profile
